/*
 * glowmcu_depthwise_strip_dsp.h: int8 depthwise convolution with a window of one row or one column,
 * stride 1, no dilation, one output channel an input channel, for the DSP extension.
 *
 * Four channels at a time, lines along the window are expanded to words of two int16 neighbours:
 *
 *     scratch = weights[words][2], line[word][channel 0..3]
 *
 * What lies outside the image is the zero point, so sums over x (not x - zero_point) need only a
 * constant, which their start has. Weights are scaled by 2^8.
 */
#ifndef GLOWMCU_DEPTHWISE_STRIP_DSP_H
#define GLOWMCU_DEPTHWISE_STRIP_DSP_H

#include "glowmcu_depthwise_forms.h"

/* One call of the loop: a line of four channels. The assembly knows the order. */
typedef struct {
    int32_t outputs;
    int32_t out_step;     /* bytes from output to output */
    int32_t words;        /* of weights: taps / 2 + 1 */
    int32_t weights_step; /* bytes of a channel's weights: a zero, k[0], k[1], ... */
    int32_t rounding;     /* 2 * out_zero_point + 1 */
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_depthwise_strip;

typedef struct {
    glowmcu_depthwise_strip strip; /* `outputs` of a whole line */
    int32_t rows_are_along;        /* lines are the image's columns */
    int32_t in_length;             /* along a line */
    int32_t in_step;
    int32_t pad_before;
    int32_t taps;
    int32_t in_line_step;          /* from line to line, with the stride */
    int32_t out_line_step;
    int32_t lines;
    int32_t channels;
    int32_t in_zero_point;
    int32_t block_words;           /* of four channels: weights, then two constants each */
    const int32_t *blocks;
} glowmcu_depthwise_strips;

/* `block`: weights of four channels, a zero, to a whole word; then {start, multiplier} of each. */
typedef void (*glowmcu_depthwise_strip_loop)(int8_t *scratch, int8_t *out, const int32_t *block,
    const glowmcu_depthwise_strip *strip);

/* Channel c of both positions becomes the word to[c]. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_put_words(uint32_t a, uint32_t b, uint32_t *to)
{
    const uint32_t low = glowmcu_pack_low(a, b);
    const uint32_t high = glowmcu_pack_high(a, b);

    to[0] = glowmcu_sxtb16(low);
    to[1] = glowmcu_sxtb16_ror8(low);
    to[2] = glowmcu_sxtb16(high);
    to[3] = glowmcu_sxtb16_ror8(high);
}

/* `count` words of a line of `length` positions, from `first` on, which may be negative. */
GLOWMCU_CODE
static void glowmcu_depthwise_expand_strip(const glowmcu_depthwise_strips *p, const int8_t *line,
    int32_t length, int32_t first, uint32_t *to, int32_t count)
{
    const uint32_t padding = (uint32_t)(p->in_zero_point & 0xFF) * 0x01010101u;
    const int32_t step = p->in_step;

    for (uint32_t *end = to + 4 * count; to < end; to += 4, first += 2) {
        uint32_t a = padding;
        uint32_t b = padding;
        if (first >= 0 && first + 1 < length) {
            const int8_t *x = line + first * step;
            const int8_t *x_end = line + (length - 1) * step;
            for (; x < x_end && to < end; x += 2 * step, first += 2, to += 4) {
                glowmcu_depthwise_put_words(
                    glowmcu_load_word(x), glowmcu_load_word(x + step), to);
            }
            if (to == end) {
                return;
            }
        }
        if (first >= 0 && first < length) {
            a = glowmcu_load_word(line + first * step);
        }
        if (first + 1 >= 0 && first + 1 < length) {
            b = glowmcu_load_word(line + (first + 1) * step);
        }
        glowmcu_depthwise_put_words(a, b, to);
    }
}

/*
 * Output rows [first_row, end_row) with the loop `run`. Reads the input rows under them, writes
 * only those rows. `in` begins with the first of these input rows, `out` with row first_row. Lines
 * of channels that are a multiple of four may be made in place: each is read as a whole first.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_strip_rows(const glowmcu_depthwise_strips *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row,
    glowmcu_depthwise_strip_loop run)
{
    const int32_t first = p->rows_are_along ? first_row - p->pad_before : -p->pad_before;
    const int32_t in_first = (first > 0) ? first : 0; /* position of a line that `in` begins with */
    const int32_t lines = p->rows_are_along ? p->lines : end_row - first_row;
    const int32_t *block = p->blocks;
    glowmcu_depthwise_strip strip = p->strip;
    uint32_t *line_words = (uint32_t *)(void *)(scratch + 8 * strip.words);
    int32_t words;
    int32_t length;

    if (end_row <= first_row) {
        return;
    }
    strip.outputs = p->rows_are_along ? end_row - first_row : strip.outputs;
    words = 2 * ((strip.outputs - 1) / 4) + strip.words + 1;
    /* Positions that no output needs are not read. */
    length = first + strip.outputs + p->taps - 1;
    length = ((length < p->in_length) ? length : p->in_length) - in_first;
    for (int32_t channel = 0; channel < p->channels; channel += 4) {
        /* The last block starts earlier where channels are no multiple of four. */
        const int32_t c = (channel + 4 <= p->channels) ? channel : p->channels - 4;
        for (int32_t line = 0; line < lines; ++line) {
            glowmcu_depthwise_expand_strip(p, in + c + line * p->in_line_step, length,
                first - in_first, line_words, words);
            run(scratch, out + c + line * p->out_line_step, block, &strip);
        }
        block += p->block_words;
    }
}

#if !GLOWMCU_HAS_DSP
/* What the assembly computes. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_strip(int8_t *scratch, int8_t *out,
    const int32_t *block, const glowmcu_depthwise_strip *p, int32_t form, int32_t postshift)
{
    const uint32_t *line = (const uint32_t *)(void *)(scratch + 8 * p->words);
    const int32_t *q = block + (4 * p->weights_step + 4) / 4;

    for (int32_t channel = 0; channel < 4; ++channel, q += 2) {
        const int8_t *weights = (const int8_t *)block + channel * p->weights_step + 1;
        for (int32_t i = 0; i < p->outputs; ++i) {
            int32_t sum = glowmcu_depthwise_start(q, form);
            int32_t x;
            for (int32_t k = 0; k < p->weights_step - 1; ++k) {
                const uint32_t pair = line[4 * ((i + k) / 2) + channel];
                const int32_t value = ((i + k) & 1) != 0 ? glowmcu_high_half(pair)
                                                         : glowmcu_low_half(pair);
                sum = glowmcu_wrapping_add(sum, value * weights[k] * 256);
            }
            x = glowmcu_depthwise_finish_scaled(sum, q, form, postshift, p->rounding);
            x = (x < p->clamp_min) ? p->clamp_min : x;
            out[channel + i * p->out_step] = (int8_t)((x > p->clamp_max) ? p->clamp_max : x);
        }
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_STRIP_DSP_H */

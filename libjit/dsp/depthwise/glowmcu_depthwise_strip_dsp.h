/*
 * glowmcu_depthwise_strip_dsp.h: int8 depthwise convolution with a window of one row or one column,
 * stride 1, no dilation, one output channel an input channel, for the DSP extension.
 *
 * A channel of a line at a time, straight from the image. Lines that are padded, or whose positions
 * are too far apart for the loop, are copied first, four channels at a time: scratch[position][4].
 *
 * What lies outside the image is the zero point, so sums over x (not x - zero_point) need only a
 * constant, which their start or addend has. Constants of a channel, before its weights:
 *
 *   floor      addend, multiplier: see glowmcu_depthwise_forms.h
 *   two_sided  start, addend, multiplier, step: the same of sum + start; where that is negative,
 *              step is added before the shift
 *   literal    start, step, multiplier, shift: sum + start as TensorFlow Lite rounds it, both times
 */
#ifndef GLOWMCU_DEPTHWISE_STRIP_DSP_H
#define GLOWMCU_DEPTHWISE_STRIP_DSP_H

#include "glowmcu_depthwise_forms.h"

/* One call of the loop: channels of a line. The assembly knows the order. */
typedef struct {
    int32_t outputs;
    int32_t channels;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_depthwise_line;

typedef struct {
    glowmcu_depthwise_line line; /* whole, all channels */
    int32_t rows_are_along;      /* lines are the image's columns */
    int32_t in_length;           /* along a line */
    int32_t in_step;
    int32_t pad_before;
    int32_t taps;
    int32_t in_line_step;        /* from line to line, with the stride */
    int32_t out_line_step;
    int32_t lines;
    int32_t in_zero_point;
    int32_t channel_words;       /* constants, then {k[j], k[j + 1], k[j + 1], k[j + 2]}, even j */
    const int32_t *blocks;
} glowmcu_depthwise_strips;

typedef void (*glowmcu_depthwise_line_loop)(const int8_t *in, int8_t *out, const int32_t *blocks,
    const glowmcu_depthwise_line *line);

/*
 * Output rows [first_row, end_row) with the loop `run`. Reads the input rows under them, writes
 * only those rows. `in` begins with the first of these input rows, `out` with row first_row.
 * Results may lie in the image's place: what an output reads is read before it is written.
 */
GLOWMCU_CODE
static inline void glowmcu_depthwise_strip_rows(const glowmcu_depthwise_strips *p,
    const int8_t *in, int8_t *out, int32_t first_row, int32_t end_row,
    glowmcu_depthwise_line_loop run)
{
    const int32_t lines = (p->rows_are_along != 0) ? p->lines : end_row - first_row;
    glowmcu_depthwise_line some = p->line;

    if (end_row <= first_row) {
        return;
    }
    some.outputs = (p->rows_are_along != 0) ? end_row - first_row : some.outputs;
    for (int32_t line = 0; line < lines; ++line) {
        run(in + line * p->in_line_step, out + line * p->out_line_step, p->blocks, &some);
    }
}

/* Four channels of `count` positions of a line of `length`, from `first` on, possibly negative. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_gather(const glowmcu_depthwise_strips *p, const int8_t *line,
    int32_t length, int32_t first, uint32_t *to, int32_t count)
{
    const uint32_t padding = (uint32_t)(p->in_zero_point & 0xFF) * 0x01010101u;
    const int32_t step = p->in_step;
    const int32_t end = first + count;

    for (; first < end && first < 0; ++first) {
        *to++ = padding;
    }
    for (const int8_t *x = line + first * step; first < end && first < length; ++first, x += step) {
        *to++ = glowmcu_load_word(x);
    }
    for (; first < end; ++first) {
        *to++ = padding;
    }
}

/* The same with lines that are copied. Each is read as a whole before its results are written. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_gathered_rows(const glowmcu_depthwise_strips *p,
    const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row,
    glowmcu_depthwise_line_loop run)
{
    const int32_t first = ((p->rows_are_along != 0) ? first_row : 0) - p->pad_before;
    const int32_t in_first = (first > 0) ? first : 0; /* position of a line that `in` begins with */
    const int32_t lines = (p->rows_are_along != 0) ? p->lines : end_row - first_row;
    const int32_t *block = p->blocks;
    glowmcu_depthwise_line some = p->line;

    if (end_row <= first_row) {
        return;
    }
    some.outputs = (p->rows_are_along != 0) ? end_row - first_row : some.outputs;
    for (int32_t channel = 0; channel < p->line.channels; channel += 4) {
        const int32_t left = p->line.channels - channel;
        /* The last four are copied where channels are no multiple of four. */
        const int32_t c = (left < 4) ? p->line.channels - 4 : channel;
        some.channels = (left < 4) ? left : 4;
        for (int32_t line = 0; line < lines; ++line) {
            glowmcu_depthwise_gather(p, in + c + line * p->in_line_step, p->in_length - in_first,
                first - in_first, (uint32_t *)(void *)scratch, some.outputs + p->taps - 1);
            run(scratch + channel - c, out + channel + line * p->out_line_step, block, &some);
        }
        block += 4 * p->channel_words;
    }
}

#if !GLOWMCU_HAS_DSP
#define GLOWMCU_DEPTHWISE_TWO_SIDED 2

/* What the loop is made for. */
typedef struct {
    int32_t taps;
    int32_t in_step;
    int32_t out_step;
    int32_t form;
    int32_t preshift;
    int32_t postshift;
} glowmcu_depthwise_line_shape;

/* One result of a sum of plain products; `q` are the channel's constants. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_finish_line(int32_t sum, const int32_t *q,
    const glowmcu_depthwise_line_shape *shape)
{
    int32_t v;
    int32_t x;

    if (shape->form == GLOWMCU_DEPTHWISE_FLOOR) {
        return glowmcu_depthwise_finish(sum, q, shape->form, shape->preshift, shape->postshift, 0);
    }
    v = glowmcu_wrapping_add(q[0], sum);
    if (shape->form == GLOWMCU_DEPTHWISE_LITERAL) {
        x = glowmcu_smmlar((int32_t)((uint32_t)v << 1), q[2], q[1]) + glowmcu_sign(v);
        return glowmcu_saturate_s8(x >> q[3]);
    }
    x = glowmcu_wrapping_add(q[1], (int32_t)((uint32_t)v << shape->preshift));
    x = glowmcu_smmul(x, q[2]) + ((v < 0) ? q[3] : 0);
    return glowmcu_saturate_s8(x >> shape->postshift);
}

/* What the assembly computes. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_line(const int8_t *in, int8_t *out,
    const int32_t *blocks, const glowmcu_depthwise_line *line,
    const glowmcu_depthwise_line_shape *shape)
{
    const int32_t constants = (shape->form == GLOWMCU_DEPTHWISE_FLOOR) ? 2 : 4;

    for (int32_t channel = 0; channel < line->channels; ++channel) {
        const int8_t *weights = (const int8_t *)(blocks + constants);
        for (int32_t i = 0; i < line->outputs; ++i) {
            const int8_t *x = in + channel + i * shape->in_step;
            int32_t sum = 0;
            int32_t y;
            for (int32_t k = 0; k < shape->taps; ++k) {
                /* Bytes 0, 1, 4, 5, 8, … and of an odd number of taps the last one of all. */
                const int32_t place = (k / 2 < shape->taps / 2) ? 4 * (k / 2) + (k & 1) : 2 * k - 1;
                sum += x[k * shape->in_step] * weights[place];
            }
            y = glowmcu_depthwise_finish_line(sum, blocks, shape);
            y = (y < line->clamp_min) ? line->clamp_min : y;
            out[channel + i * shape->out_step] =
                (int8_t)((y > line->clamp_max) ? line->clamp_max : y);
        }
        blocks += constants + shape->taps / 2;
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_STRIP_DSP_H */

/*
 * glowmcu_wide_depthwise_dsp.h: int16 depthwise convolution with int8 weights, four channels of a
 * pixel at a time.
 *
 * For each four channels, the last ones with zeros, the stream has a word of weights a tap, those
 * of channels 0, 2, 1, 3 from the lowest byte on, then four biases and four scales: the shift to
 * the right in the upper half, the multiplier in the lower one.
 */
#ifndef GLOWMCU_WIDE_DEPTHWISE_DSP_H
#define GLOWMCU_WIDE_DEPTHWISE_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_requantize.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t clamp_min;
    int32_t clamp_max;
    const uint32_t *stream;
} glowmcu_wide_depthwise;

/* The taps of a window; steps are elements of the image, and words of weights that are left out. */
typedef struct {
    int32_t rows;
    int32_t taps;
    int32_t step;
    int32_t line;
    int32_t before;
    int32_t between;
} glowmcu_wide_taps;

/* (sum * multiplier) >> (16 + shift), halves up, clamped. */
GLOWMCU_CODE
static inline int16_t glowmcu_wide_depthwise_result(const glowmcu_wide_depthwise *p, int32_t sum,
    uint32_t scale)
{
    const int32_t shift = (int32_t)(scale >> 16);
    const int32_t half = (int32_t)((1u << shift) >> 1);

    return (int16_t)glowmcu_clamp(glowmcu_smlawb(sum, scale, half) >> shift, p->clamp_min,
        p->clamp_max);
}

/* Four channels at `x`, whose constants begin at `w`. */
GLOWMCU_CODE
static inline void glowmcu_wide_depthwise_four(const glowmcu_wide_depthwise *p,
    const glowmcu_wide_taps *k, const int16_t *x, const uint32_t *w, const uint32_t *scales,
    int16_t *out)
{
    int32_t a = (int32_t)scales[0];
    int32_t b = (int32_t)scales[1];
    int32_t c = (int32_t)scales[2];
    int32_t d = (int32_t)scales[3];

    w += k->before;
    for (int32_t row = k->rows; row > 0; --row) {
        const int16_t *at = x;
        for (int32_t tap = k->taps; tap > 0; --tap) {
            const uint32_t first = glowmcu_load_word(at);
            const uint32_t second = glowmcu_load_word(at + 2);
            const uint32_t weights = *w;
            const uint32_t even = glowmcu_sxtb16(weights);
            const uint32_t odd = glowmcu_sxtb16_ror8(weights);

            a = glowmcu_smlabb(first, even, a);
            b = glowmcu_smlatt(first, even, b);
            c = glowmcu_smlabb(second, odd, c);
            d = glowmcu_smlatt(second, odd, d);
            at += k->step;
            ++w;
        }
        x += k->line;
        w += k->between;
    }
    out[0] = glowmcu_wide_depthwise_result(p, a, scales[4]);
    out[1] = glowmcu_wide_depthwise_result(p, b, scales[5]);
    out[2] = glowmcu_wide_depthwise_result(p, c, scales[6]);
    out[3] = glowmcu_wide_depthwise_result(p, d, scales[7]);
}

/* Channel `lane` of four at `x`, where there are fewer. */
GLOWMCU_CODE
static int16_t glowmcu_wide_depthwise_one(const glowmcu_wide_depthwise *p,
    const glowmcu_wide_taps *k, const int16_t *x, const uint32_t *w, const uint32_t *scales,
    int32_t lane)
{
    const int32_t place = 8 * ((lane % 2) * 2 + lane / 2); /* of its byte in a word */
    int32_t sum = (int32_t)scales[lane];

    w += k->before;
    for (int32_t row = k->rows; row > 0; --row) {
        const int16_t *at = x;
        for (int32_t tap = k->taps; tap > 0; --tap) {
            const int32_t weight = (int8_t)(uint8_t)((*w >> place) & 0xFFu);
            sum = glowmcu_wrapping_add(sum, *at * weight);
            at += k->step;
            ++w;
        }
        x += k->line;
        w += k->between;
    }
    return glowmcu_wide_depthwise_result(p, sum, scales[4 + lane]);
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_wide_depthwise_dsp_s16(const glowmcu_wide_depthwise *p, const int16_t *in,
    int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t words = p->kernel_height * p->kernel_width;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t line = p->in_width * p->channels;
    glowmcu_wide_taps k;

    k.step = p->dilation_x * p->channels;
    k.line = p->dilation_y * line;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top,
            p->kernel_height, p->dilation_y, p->in_height);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const uint32_t *w = p->stream;
            const int16_t *x = in;
            int32_t c = 0;

            k.rows = ys.end - ys.first;
            k.taps = xs.end - xs.first;
            k.before = ys.first * p->kernel_width + xs.first;
            k.between = p->kernel_width - k.taps;
            if (k.rows > 0 && k.taps > 0) {
                x += (ys.origin - in_row + ys.first * p->dilation_y) * line
                    + (xs.origin + xs.first * p->dilation_x) * p->channels;
            }
            for (; c + 4 <= p->channels; c += 4) {
                glowmcu_wide_depthwise_four(p, &k, x + c, w, w + words, out + c);
                w += words + 8;
            }
            for (int32_t lane = 0; c < p->channels; ++lane, ++c) {
                out[c] = glowmcu_wide_depthwise_one(p, &k, x + c, w, w + words, lane);
            }
            out += p->channels;
        }
    }
}

#endif /* GLOWMCU_WIDE_DEPTHWISE_DSP_H */

/*
 * glowmcu_wide_depthwise_dsp.h: int16 depthwise convolution with int8 weights, four channels of a
 * pixel at a time.
 *
 * The inner function is assembly that the compiler writes, or C on the same stream of constants.
 *
 * For each four channels, the last ones with zeros, the stream has four biases, then a word of
 * weights a tap, those of channels 0, 2, 1, 3 from the lowest byte on, then four scales: a
 * multiplier in the upper half, a shift to the right in the lower one.
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
    const int32_t *stream;
} glowmcu_wide_depthwise;

/* A pixel's window, in the order that the assembly knows; steps and sizes are bytes. */
typedef struct {
    const int32_t *stream;
    int32_t blocks;  /* of four channels */
    int32_t taps;    /* of a row */
    int32_t step;    /* from tap to tap */
    int32_t line;    /* from row to row */
    int32_t before;  /* weights that the window does not have, in front of the others */
    int32_t between; /* and from row to row */
    int32_t after;
    int32_t rows;    /* 0: there are no taps */
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_wide_depthwise_job;

/* All whole blocks of channels at one pixel. */
typedef void (*glowmcu_wide_depthwise_function)(const glowmcu_wide_depthwise_job *job,
    const int16_t *in, int16_t *out);

/* The result of a channel, whose image is `x`: `lane` of the block that begins at `w`. */
GLOWMCU_CODE
static int16_t glowmcu_wide_depthwise_one(const glowmcu_wide_depthwise_job *k, const int32_t *w,
    int32_t words, const int16_t *x, int32_t lane)
{
    const int32_t place = 8 * ((lane % 2) * 2 + lane / 2); /* of its byte in a word */
    const uint32_t scale = (uint32_t)w[4 + words + lane];
    const int32_t shift = (int32_t)(scale & 0xFFFFu);
    int32_t sum = w[lane];

    w += 4 + k->before / 4;
    for (int32_t row = k->rows; row > 0; --row) {
        const int16_t *at = x;
        for (int32_t tap = k->taps; tap > 0; --tap) {
            const int32_t weight = (int8_t)(uint8_t)(((uint32_t)*w >> place) & 0xFFu);
            sum = glowmcu_wrapping_add(sum, *at * weight);
            at += k->step / 2;
            ++w;
        }
        x += k->line / 2;
        w += k->between / 4;
    }
    sum = glowmcu_smlawb(sum, scale >> 16, (int32_t)(((uint32_t)1 << shift) >> 1)) >> shift;
    return (int16_t)glowmcu_clamp(sum, k->clamp_min, k->clamp_max);
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_wide_depthwise_rows(const glowmcu_wide_depthwise *p,
#if GLOWMCU_HAS_DSP
    glowmcu_wide_depthwise_function four,
#endif
    const int16_t *in, int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t words = p->kernel_height * p->kernel_width;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t line = p->in_width * p->channels;
    glowmcu_wide_depthwise_job k;

    k.stream = p->stream;
    k.blocks = p->channels / 4;
    k.step = p->dilation_x * p->channels * 2;
    k.line = p->dilation_y * line * 2;
    k.clamp_min = p->clamp_min;
    k.clamp_max = p->clamp_max;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top,
            p->kernel_height, p->dilation_y, p->in_height);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const int16_t *x = in;
            int32_t c = 0;

            k.taps = xs.end - xs.first;
            k.rows = (k.taps > 0) ? ys.end - ys.first : 0;
            k.before = 4 * (ys.first * p->kernel_width + xs.first);
            k.between = 4 * (p->kernel_width - k.taps);
            k.after = 4 * words - k.before - k.rows * p->kernel_width * 4;
            if (k.rows > 0) {
                x += (ys.origin - in_row + ys.first * p->dilation_y) * line
                    + (xs.origin + xs.first * p->dilation_x) * p->channels;
            }
#if GLOWMCU_HAS_DSP
            if (k.blocks > 0) {
                four(&k, x, out);
                c = k.blocks * 4;
            }
#endif
            for (; c < p->channels; ++c) {
                out[c] = glowmcu_wide_depthwise_one(&k, p->stream + c / 4 * (words + 8), words,
                    x + c, c % 4);
            }
            out += p->channels;
        }
    }
}

#endif /* GLOWMCU_WIDE_DEPTHWISE_DSP_H */

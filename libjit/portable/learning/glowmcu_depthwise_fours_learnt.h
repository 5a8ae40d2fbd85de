/*
 * glowmcu_depthwise_fours_learnt.h: int8 depthwise convolution, weights and biases from the arena.
 */
#ifndef GLOWMCU_DEPTHWISE_FOURS_LEARNT_H
#define GLOWMCU_DEPTHWISE_FOURS_LEARNT_H

#include "glowmcu_learnt_scale.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_height;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    const int32_t *multipliers; /* [channels] */
    const int8_t *shifts;       /* [channels] */
} glowmcu_learnt_depthwise;

/* Taps that lie inside the image, from the first one on. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row;    /* bytes to the next row of the image, of the weights, and to the next column */
    int32_t column;
    int32_t weights_row;
    int32_t weights_column;
    int32_t offset; /* that is added to the image */
} glowmcu_seen_taps;

/*
 * In acc[0..3] the sums of all taps for four neighbouring channels. A function of its own:
 * beside others, compilers would keep sums on the stack.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_taps_of_four(const glowmcu_seen_taps *t, const int8_t *in,
    const int8_t *weights, int32_t acc[4])
{
#if GLOWMCU_HAS_DSP
    const uint32_t points = glowmcu_pack_low((uint32_t)t->offset, (uint32_t)t->offset);
#endif
    int32_t acc0 = 0;
    int32_t acc1 = 0;
    int32_t acc2 = 0;
    int32_t acc3 = 0;

    for (int32_t y = 0; y < t->rows; ++y) {
        const int8_t *x = in;
        const int8_t *w = weights;
        for (int32_t left = t->columns; left > 0; --left) {
#if GLOWMCU_HAS_DSP
            const uint32_t word = glowmcu_load_word(x);
            const uint32_t factors = glowmcu_load_word(w);
            uint32_t inputs = glowmcu_sxtab16(points, word);
            uint32_t half = glowmcu_sxtb16(factors);
            acc0 = glowmcu_smlabb(inputs, half, acc0);
            acc2 = glowmcu_smlatt(inputs, half, acc2);
            inputs = glowmcu_sxtab16_ror8(points, word);
            half = glowmcu_sxtb16_ror8(factors);
            acc1 = glowmcu_smlabb(inputs, half, acc1);
            acc3 = glowmcu_smlatt(inputs, half, acc3);
#else
            acc0 += (x[0] + t->offset) * w[0];
            acc1 += (x[1] + t->offset) * w[1];
            acc2 += (x[2] + t->offset) * w[2];
            acc3 += (x[3] + t->offset) * w[3];
#endif
            x += t->column;
            w += t->weights_column;
        }
        in += t->row;
        weights += t->weights_row;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}

/*
 * A layer with an output for each channel, of which there are a multiple of four. `weights`
 * [kernel_height][kernel_width][channels]. Results may overwrite what of
 * the image nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_fours_learnt(const glowmcu_learnt_depthwise *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out)
{
    glowmcu_learnt_end end = {p->out_zero_point, p->clamp_min, p->clamp_max, 1, p->multipliers,
        p->shifts, 0};
    const int32_t channels = p->channels;
    glowmcu_seen_taps seen;

    glowmcu_find_short(&end, channels);
    seen.row = p->dilation_y * p->in_width * channels;
    seen.column = p->dilation_x * channels;
    seen.weights_row = p->kernel_width * channels;
    seen.weights_column = channels;
    seen.offset = -p->in_zero_point;
    for (int32_t oy = 0; oy < p->out_height; ++oy) {
        const glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const int32_t in_x = xs.origin + xs.first * p->dilation_x;
            const int32_t in_y = ys.origin + ys.first * p->dilation_y;
            const int8_t *x = in + (in_y * p->in_width + in_x) * channels;
            const int8_t *w = weights + (ys.first * p->kernel_width + xs.first) * channels;
            seen.rows = ys.end - ys.first;
            seen.columns = xs.end - xs.first;
            for (int32_t c = 0; c < channels; c += 4) {
                int32_t acc[4];
                glowmcu_taps_of_four(&seen, x + c, w + c, acc);
                glowmcu_learnt_results(&end, c, acc, bias + c, 4, out + c);
            }
            out += channels;
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_FOURS_LEARNT_H */

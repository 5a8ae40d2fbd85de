/*
 * glowmcu_conv_2d_few_inputs.h: 1x1 convolution of at most eight inputs, by pairs of pixels.
 *
 * The stream has a channel at a time: what its sum starts from, weights scaled by 2^8 in the order
 * of glowmcu_dense_widen, multiplier. Behind each block of several: the way to the next block's
 * channels, 0 after the last one.
 */
#ifndef GLOWMCU_CONV_2D_FEW_INPUTS_H
#define GLOWMCU_CONV_2D_FEW_INPUTS_H

#include "glowmcu_dense_stream.h"

typedef struct {
    const int32_t *stream;
    int32_t out_step;  /* bytes from pixel to pixel: the channels */
    int32_t out_width; /* pixels in a row, two at least */
    int32_t in_step;   /* bytes from pixel to pixel */
    int32_t in_row;    /* bytes from row to row */
    int32_t is_dense;  /* 1: the pixels of all rows are evenly spaced */
    int32_t clamp_min;
    int32_t clamp_max; /* below clamp_min: nothing is left to clamp */
} glowmcu_conv_2d_few_inputs;

/* `pairs` pairs of evenly spaced pixels, one at least. */
typedef void (*glowmcu_few_inputs_pairs)(const int8_t *in, const int32_t *stream, int8_t *out,
    int32_t in_step, int32_t pairs);

#if !GLOWMCU_HAS_DSP
/* What a function is made for. */
typedef struct {
    int32_t depth;    /* eight inputs at most */
    int32_t out_step;
    int32_t channels; /* of a block */
    int32_t looped;   /* there are several blocks */
    int32_t postshift;
} glowmcu_few_inputs_shape;

/* All channels of one pixel. */
GLOWMCU_CODE
static inline void glowmcu_few_inputs_pixel(const glowmcu_few_inputs_shape *k, const int8_t *in,
    const int32_t *w, int8_t *out)
{
    const int32_t count = (k->depth + 1) / 2;
    uint32_t words[4];
    int32_t way = 1;

    glowmcu_dense_widen(in, k->depth, words, 1);
    while (way != 0) {
        for (int32_t channel = 0; channel < k->channels; ++channel, w += count + 2) {
            int32_t sum = w[0];
            for (int32_t i = 0; i < count; ++i) {
                sum = glowmcu_smlad(words[i], (uint32_t)w[1 + i], sum);
            }
            out[channel] = (int8_t)glowmcu_saturate_s8(
                glowmcu_smmul(sum, w[1 + count]) >> k->postshift);
        }
        way = (k->looped != 0) ? *w++ : 0;
        out += way;
    }
}

GLOWMCU_CODE
static inline void glowmcu_few_inputs_portable(const glowmcu_few_inputs_shape *k, const int8_t *in,
    const int32_t *stream, int8_t *out, int32_t in_step, int32_t pairs)
{
    for (int32_t pixel = 0; pixel < 2 * pairs; ++pixel) {
        glowmcu_few_inputs_pixel(k, in + pixel * in_step, stream, out + pixel * k->out_step);
    }
}
#endif

/* Evenly spaced pixels, two at least. An odd last one is computed with its neighbour once more. */
GLOWMCU_CODE
static void glowmcu_few_inputs_pixels(const glowmcu_conv_2d_few_inputs *p,
    glowmcu_few_inputs_pairs pairs, const int8_t *in, int8_t *out, int32_t count)
{
    pairs(in, p->stream, out, p->in_step, count >> 1);
    if ((count & 1) != 0) {
        pairs(in + (count - 2) * p->in_step, p->stream, out + (count - 2) * p->out_step,
            p->in_step, 1);
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_few_inputs_rows(const glowmcu_conv_2d_few_inputs *p,
    glowmcu_few_inputs_pairs pairs, const int8_t *in, int8_t *out, int32_t first_row,
    int32_t end_row)
{
    const int32_t out_row = p->out_width * p->out_step;
    const int32_t rows = end_row - first_row;

    if (p->is_dense == 0) {
        for (int32_t row = 0; row < rows; ++row, in += p->in_row) {
            glowmcu_few_inputs_pixels(p, pairs, in, out + row * out_row, p->out_width);
        }
    } else if (rows > 0) {
        glowmcu_few_inputs_pixels(p, pairs, in, out, rows * p->out_width);
    } else {
        /* no rows */
    }
    glowmcu_dense_clamp(out, rows * out_row, p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_CONV_2D_FEW_INPUTS_H */

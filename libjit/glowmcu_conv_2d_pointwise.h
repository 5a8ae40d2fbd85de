/*
 * glowmcu_conv_2d_pointwise.h: 1x1 convolution, two pixels x four output channels at a time.
 *
 * The inner function is assembly made by glowmcu/kernels/pointwise_assembly.py, or C on the same
 * stream of constants, which has the flag where a block has a single round.
 */
#ifndef GLOWMCU_CONV_2D_POINTWISE_H
#define GLOWMCU_CONV_2D_POINTWISE_H

#include "glowmcu_dense_stream.h"

typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *stream;
    int32_t rest;         /* inputs modulo 8, and 8 where a block has a single round */
    int32_t eights_bytes; /* scratch of the other inputs */
    int32_t first_round;  /* for these see `Walk` in pointwise_assembly.py */
    int32_t last_round;
    int32_t entry;
    int32_t jump;

    int32_t depth_in;
    int32_t depth_out;
    int32_t steps;      /* of two inputs, rounded up */
    int32_t out_width;
    int32_t in_step;    /* bytes from pixel to pixel */
    int32_t in_row;     /* bytes from row to row */
    int32_t is_dense;   /* 1: the pixels of all rows are evenly spaced */
    int32_t clamp_min;
    int32_t clamp_max;  /* below clamp_min: nothing is left to clamp */
} glowmcu_conv_2d_pointwise;

/* Pairs of pixels. `scratch` is [steps] of {a word of the first pixel, a word of the second}. */
typedef struct {
    uint32_t *scratch;
    const int8_t *in;
    int32_t in_step;
    int8_t *out;
    int32_t out_step;
    int32_t pairs;
} glowmcu_pointwise_run;

typedef void (*glowmcu_pointwise_pairs)(const glowmcu_conv_2d_pointwise *p,
    const glowmcu_pointwise_run *run);

#if !GLOWMCU_HAS_DSP
static inline void glowmcu_pointwise_portable(const glowmcu_conv_2d_pointwise *p,
    const glowmcu_pointwise_run *run, int32_t form, int32_t postshift, int32_t wide)
{
    const glowmcu_dense_shape shape = {4, form, postshift, wide};

    for (int32_t pixel = 0; pixel < 2 * run->pairs; ++pixel) {
        const int32_t *block = p->stream;
        glowmcu_dense_widen(run->in + pixel * run->in_step, p->depth_in, run->scratch, 2);
        for (int32_t i = 0; i < p->depth_out; i += 4) {
            block = glowmcu_dense_block(&shape, run->scratch, 2, p->steps, block, NULL,
                run->out + pixel * run->out_step);
        }
    }
}
#endif

/* Evenly spaced pixels. An odd last pixel is computed along with its neighbour once more. */
static void glowmcu_pointwise_pixels(const glowmcu_conv_2d_pointwise *p,
    glowmcu_pointwise_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch, int32_t count)
{
    glowmcu_pointwise_run run;

    run.scratch = (uint32_t *)(void *)scratch;
    run.in = in;
    run.in_step = p->in_step;
    run.out = out;
    run.out_step = p->depth_out;
    run.pairs = count >> 1;
    if (run.pairs > 0) {
        pairs(p, &run);
    }
    if ((count & 1) != 0) {
        run.pairs = 1;
        if (count == 1) {
            run.in_step = 0;
            run.out_step = 0;
        } else {
            run.in = in + (count - 2) * p->in_step;
            run.out = out + (count - 2) * p->depth_out;
        }
        pairs(p, &run);
    }
}

/*
 * Output rows [first_row, end_row): reads the input rows under them, writes only those rows.
 * `in` and `out` are the tensors' first bytes and may not overlap.
 */
static void glowmcu_conv_2d_pointwise_rows(const glowmcu_conv_2d_pointwise *p,
    glowmcu_pointwise_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t out_row = p->out_width * p->depth_out;
    int8_t *to = out + first_row * out_row;

    in += first_row * p->in_row;
    if (p->is_dense != 0) {
        glowmcu_pointwise_pixels(p, pairs, in, to, scratch, (end_row - first_row) * p->out_width);
    } else {
        for (int32_t row = first_row; row < end_row; ++row, in += p->in_row) {
            glowmcu_pointwise_pixels(p, pairs, in, out + row * out_row, scratch, p->out_width);
        }
    }
    glowmcu_dense_clamp(to, (end_row - first_row) * out_row, p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_CONV_2D_POINTWISE_H */

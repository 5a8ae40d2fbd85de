/*
 * glowmcu_pointwise_pairs.h: the inner function of 1x1 convolutions, two pixels x four output
 * channels at a time.
 *
 * It is assembly that the compiler writes, or C on the same stream of constants, whose places have
 * the flag where a block has a single round.
 */
#ifndef GLOWMCU_POINTWISE_PAIRS_H
#define GLOWMCU_POINTWISE_PAIRS_H

#include "glowmcu_dense_stream.h"

typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *stream;
    int32_t rest;         /* inputs modulo 8, and 8 where a block has a single round */
    int32_t eights_bytes; /* scratch of the other inputs */
    int32_t first_round;  /* bytes from the scratch to where a block's first round reads it */
    int32_t last_round;   /* and its last one */
    int32_t entry;        /* bytes of code to where the first round is entered, and 1 for Thumb */
    int32_t jump;         /* bytes of the stream from a block's last round to the next entry */

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

/*
 * Pairs of pixels, both of which are read before either is written: results may overwrite pixels
 * that were read. `scratch` is [steps] of {a word of the first pixel, a word of the second}.
 */
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
GLOWMCU_CODE
static inline void glowmcu_pointwise_portable(const glowmcu_conv_2d_pointwise *p,
    const glowmcu_pointwise_run *run, int32_t form, int32_t postshift, int32_t wide)
{
    const glowmcu_dense_shape shape = {4, form, postshift, wide};

    for (int32_t pair = 0; pair < run->pairs; ++pair) {
        const int8_t *in = run->in + 2 * pair * run->in_step;
        int8_t *out = run->out + 2 * pair * run->out_step;
        glowmcu_dense_widen(in, p->depth_in, run->scratch, 2);
        glowmcu_dense_widen(in + run->in_step, p->depth_in, run->scratch + 1, 2);
        for (int32_t pixel = 0; pixel < 2; ++pixel, out += run->out_step) {
            const int32_t *block = p->stream;
            for (int32_t i = 0; i < p->depth_out; i += 4) {
                block = glowmcu_dense_block(&shape, run->scratch + pixel, 2, p->steps, block, NULL,
                    out);
            }
        }
    }
}
#endif

#endif /* GLOWMCU_POINTWISE_PAIRS_H */

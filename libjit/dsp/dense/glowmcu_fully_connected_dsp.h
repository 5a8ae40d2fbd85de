/*
 * glowmcu_fully_connected_dsp.h: int8 matrix-vector product, eight output channels at a time.
 *
 * The inner function is assembly that the compiler writes, or C on the same stream of
 * constants.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_DSP_H
#define GLOWMCU_FULLY_CONNECTED_DSP_H

#include "glowmcu_dense_stream.h"

typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *stream;
    int32_t first_round; /* bytes from the words to where a block's first round reads them */
    int32_t last_round;  /* and its last one */
    int32_t entry;       /* bytes of code to where the first round is entered, and 1 for Thumb */
    int32_t jump;        /* bytes of the stream from a block's last round to the next entry */
    int32_t multiplier; /* of all channels where the function is uniform */
    int32_t step;
    int32_t shift;

    int32_t depth_in;
    int32_t depth_out;
    int32_t steps; /* of two inputs, rounded up */
    int32_t clamp_min;
    int32_t clamp_max; /* below clamp_min: nothing is left to clamp */
} glowmcu_fully_connected_dsp;

/* All channels of one row; at least eight are written. `words` are [steps]. */
typedef void (*glowmcu_fully_connected_row)(const glowmcu_fully_connected_dsp *p,
    const uint32_t *words, int8_t *out);

#if !GLOWMCU_HAS_DSP
GLOWMCU_CODE
static inline void glowmcu_fully_connected_portable(const glowmcu_fully_connected_dsp *p,
    const uint32_t *words, int8_t *out, int32_t form, int32_t postshift, int32_t wide,
    int32_t uniform)
{
    const glowmcu_dense_shape shape = {8, form, postshift, wide};
    const int32_t shared[3] = {p->multiplier, p->step, p->shift};
    const int32_t *block = p->stream;

    for (int32_t i = 0; i < p->depth_out; i += 8) {
        block = glowmcu_dense_block(&shape, words, 1, p->steps, block,
            (uniform != 0) ? shared : NULL, out);
    }
}
#endif

/*
 * Rows [first_row, end_row) of the tensors; `in`, [][depth_in], and `out`, [][depth_out], begin
 * with row first_row. Results may overwrite rows up to the one that is read, as a whole, before.
 */
GLOWMCU_CODE
static void glowmcu_fully_connected_rows(const glowmcu_fully_connected_dsp *p,
    glowmcu_fully_connected_row one, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    uint32_t *words = (uint32_t *)(void *)scratch;

    for (int32_t row = first_row; row < end_row; ++row) {
        glowmcu_dense_widen(in, p->depth_in, words, 1);
        if (p->depth_out >= 8) {
            one(p, words, out);
        } else {
            int8_t aside[8];
            one(p, words, aside);
            (void)memcpy(out, aside, (size_t)p->depth_out);
        }
        glowmcu_dense_clamp(out, p->depth_out, p->clamp_min, p->clamp_max);
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_DSP_H */

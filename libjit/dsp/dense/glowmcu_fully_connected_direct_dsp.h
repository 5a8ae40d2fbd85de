/*
 * glowmcu_fully_connected_direct_dsp.h: int8 matrix-vector product without scratch, eight output
 * channels at a time.
 *
 * The inner function is assembly that the compiler writes, or C on the same stream of
 * constants.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_DIRECT_DSP_H
#define GLOWMCU_FULLY_CONNECTED_DIRECT_DSP_H

#include "glowmcu_dense_stream.h"

typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *stream;
    int32_t first_round; /* bytes from `in` to where a block's first round reads, were it whole */
    int32_t end_round;   /* and to where its last one ends */
    int32_t entry;       /* bytes of code to where the first round is entered, and 1 for Thumb */
    int32_t jump;        /* bytes by which the stream pointer is behind then */
    int32_t multiplier; /* of all channels where the function is uniform */
    int32_t step;
    int32_t shift;

    int32_t depth_in;
    int32_t depth_out;
    int32_t clamp_min;
    int32_t clamp_max; /* below clamp_min: nothing is left to clamp */
} glowmcu_fully_connected_direct;

/*
 * All channels of one row; at least eight are written. `rest` is the last depth_in % 4 inputs in a
 * word, lowest first, then zeros: their weights come first.
 */
typedef void (*glowmcu_direct_row)(const glowmcu_fully_connected_direct *p,
    const int8_t *in, int8_t *out, uint32_t rest);

#if !GLOWMCU_HAS_DSP
/* Four inputs with their weights; returns what follows these. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_direct_four(const glowmcu_dense_shape *k,
    uint32_t four, const int32_t *w, int32_t sums[8])
{
    const uint32_t words[2] = {glowmcu_sxtb16(four), glowmcu_sxtb16_ror8(four)};

    return glowmcu_dense_add(k, words, 1, 2, w, sums);
}

GLOWMCU_CODE
static inline void glowmcu_direct_portable(const glowmcu_fully_connected_direct *p,
    const int8_t *in, int8_t *out, uint32_t rest, int32_t form, int32_t postshift, int32_t wide,
    int32_t uniform)
{
    const glowmcu_dense_shape shape = {8, form, postshift, wide};
    const int32_t shared[3] = {p->multiplier, p->step, p->shift};
    const int32_t *w = p->stream;

    for (int32_t i = 0; i < p->depth_out; i += 8) {
        int32_t sums[8];

        w = glowmcu_dense_start(&shape, w, sums);
        if (p->depth_in % 4 != 0) {
            w = glowmcu_direct_four(&shape, rest, w, sums);
        }
        for (int32_t ic = 0; ic + 4 <= p->depth_in; ic += 4) {
            w = glowmcu_direct_four(&shape, glowmcu_load_word(in + ic), w, sums);
        }
        w = glowmcu_dense_results(&shape, sums, w, (uniform != 0) ? shared : NULL, out);
    }
}
#endif

/*
 * Rows [first_row, end_row) of the tensors; `in`, [][depth_in], and `out`, [][depth_out], begin
 * with row first_row. Results may overwrite rows before the one that is read; this one, too, where
 * all channels are one block, which is written when everything was read.
 */
GLOWMCU_CODE
static void glowmcu_direct_rows(const glowmcu_fully_connected_direct *p,
    glowmcu_direct_row one, const int8_t *in, int8_t *out, int32_t first_row,
    int32_t end_row)
{
    for (int32_t row = first_row; row < end_row; ++row) {
        uint32_t rest = 0;

        for (int32_t i = 1; i <= p->depth_in % 4; ++i) {
            rest = (rest << 8) | (uint8_t)in[p->depth_in - i];
        }
        if (p->depth_out >= 8) {
            one(p, in, out, rest);
        } else {
            int8_t aside[8];
            one(p, in, aside, rest);
            (void)memcpy(out, aside, (size_t)p->depth_out);
        }
        glowmcu_dense_clamp(out, p->depth_out, p->clamp_min, p->clamp_max);
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_DIRECT_DSP_H */

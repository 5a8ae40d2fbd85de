/*
 * glowmcu_pointwise_nibbles.h: the C on the stream of 1x1 convolutions with weights of four bits,
 * two pixels x four output channels at a time; for glowmcu_pointwise_pairs.h.
 */
#ifndef GLOWMCU_POINTWISE_NIBBLES_H
#define GLOWMCU_POINTWISE_NIBBLES_H

#include "glowmcu_dense_nibbles.h"
#include "glowmcu_pointwise_pairs.h"

#if !GLOWMCU_HAS_DSP
/* All channels of one pixel, whose `steps` words of inputs are two words apart. */
GLOWMCU_CODE
static inline void glowmcu_pointwise_nibbles_pixel(const glowmcu_dense_shape *k,
    const uint32_t *words, int32_t steps, const int32_t *w, int32_t depth_out, int8_t *out)
{
    int32_t offset = 0;

    for (int32_t step = 0; step < steps; ++step) {
        offset = glowmcu_smlad(words[2 * step], 0x00080008u, offset);
    }
    for (int32_t i = 0; i < depth_out; i += 4) {
        int32_t sums[8];

        w = glowmcu_dense_start(k, w, sums);
        for (int32_t step = 0; step < steps; ++step, ++w) {
            glowmcu_nibbles_add(words[2 * step], (uint32_t)*w, sums);
        }
        glowmcu_nibbles_part(sums, offset);
        w = glowmcu_dense_results(k, sums, w, NULL, out);
    }
}

GLOWMCU_CODE
static inline void glowmcu_pointwise_nibbles_portable(const glowmcu_conv_2d_pointwise *p,
    const glowmcu_pointwise_run *run, int32_t form, int32_t postshift)
{
    const glowmcu_dense_shape shape = {4, form, postshift, 1};

    for (int32_t pair = 0; pair < run->pairs; ++pair) {
        const int8_t *in = run->in + 2 * pair * run->in_step;
        int8_t *out = run->out + 2 * pair * run->out_step;
        glowmcu_dense_widen(in, p->depth_in, run->scratch, 2);
        glowmcu_dense_widen(in + run->in_step, p->depth_in, run->scratch + 1, 2);
        for (int32_t pixel = 0; pixel < 2; ++pixel, out += run->out_step) {
            glowmcu_pointwise_nibbles_pixel(
                &shape, run->scratch + pixel, p->steps, p->stream, p->depth_out, out);
        }
    }
}
#endif

#endif /* GLOWMCU_POINTWISE_NIBBLES_H */

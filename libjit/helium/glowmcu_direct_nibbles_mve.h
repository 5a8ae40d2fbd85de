/*
 * glowmcu_direct_nibbles_mve.h: glowmcu_direct_mve's loop for weights of four bits, in C.
 *
 * The stream has weights [turns][blocks][2][16] in place of [turns][blocks][4][16]: a byte has
 * those of two channels for one input, the even one's in its low half.
 */
#ifndef GLOWMCU_DIRECT_NIBBLES_MVE_H
#define GLOWMCU_DIRECT_NIBBLES_MVE_H

#include "glowmcu_direct_rows_mve.h"

#if !GLOWMCU_HAS_MVE
/* `windows` windows, of which `x` is the first, with `blocks` blocks a turn. */
GLOWMCU_CODE
static inline void glowmcu_direct_nibbles_mve_portable(const glowmcu_direct_mve *p, int32_t blocks,
    const int8_t *x, int8_t *out, int32_t windows)
{
    for (; windows > 0; --windows) {
        const int32_t *stream = p->stream;
        for (int32_t oc = 0; oc < p->channels; oc += 4) {
            const int8_t *from = x;
            const int32_t *step = p->steps;
            int32_t sums[4] = {0, 0, 0, 0}; /* within int32: the layer's comment has the bound */
            int32_t last = 0;
            while (last == 0) {
                const int8_t *w = (const int8_t *)stream;
                for (int32_t i = 0; i < 32 * blocks; ++i) {
                    const int32_t even = ((w[i] & 15) ^ 8) - 8;
                    const int32_t odd = (w[i] - (w[i] & 15)) / 16;
                    const int32_t at = i / 32 * 16 + i % 16;
                    int32_t *const pair = sums + i / 16 % 2 * 2;
                    /* beyond a window nobody wrote x */
                    pair[0] += (even != 0) ? from[at] * even : 0;
                    pair[1] += (odd != 0) ? from[at] * odd : 0;
                }
                stream += 8 * blocks;
                from += *step / 2; /* the one that is odd is the last */
                last = *step % 2;
                ++step;
            }
            for (int32_t lane = 0; lane < 4 && oc + lane < p->channels; ++lane) {
                out[oc + lane] = glowmcu_scale_mve_one(&p->scale, sums[lane], stream + lane, 4);
            }
            stream += 4 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);
        }
        x += p->apart;
        out += p->channels;
    }
}
#endif

#endif /* GLOWMCU_DIRECT_NIBBLES_MVE_H */

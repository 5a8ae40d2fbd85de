/*
 * glowmcu_signal_window.h: int16 samples times the weights of a window.
 */
#ifndef GLOWMCU_SIGNAL_WINDOW_H
#define GLOWMCU_SIGNAL_WINDOW_H

#include "glowmcu_signal_samples.h"

typedef struct {
    int32_t frames;
    int32_t count; /* samples of a frame, and weights */
    int32_t shift; /* 0 to 31 */
} glowmcu_signal_window;

/* out = saturate((in * weights) >> shift); `out` may be `in`. |product| <= 2^30. */
GLOWMCU_CODE
static void glowmcu_signal_window_s16(const glowmcu_signal_window *p, const int16_t *in,
    const int16_t *weights, int16_t *out)
{
    const int32_t shift = p->shift;

    for (int32_t frame = 0; frame < p->frames; ++frame) {
        const int16_t *w = weights;
        int32_t left = p->count;

#if GLOWMCU_HAS_DSP
        for (; left >= 2; left -= 2) {
            const uint32_t x = glowmcu_load_word(in);
            const uint32_t y = glowmcu_load_word(w);
            const int32_t low = (glowmcu_low_half(x) * glowmcu_low_half(y)) >> shift;
            const int32_t high = (glowmcu_high_half(x) * glowmcu_high_half(y)) >> shift;

            glowmcu_store_word(out, glowmcu_pack_low((uint32_t)glowmcu_saturate_s16(low),
                (uint32_t)glowmcu_saturate_s16(high)));
            in += 2;
            w += 2;
            out += 2;
        }
#endif
        for (; left > 0; --left) {
            *out = (int16_t)glowmcu_saturate_s16(((int32_t)*in * *w) >> shift);
            ++in;
            ++w;
            ++out;
        }
    }
}

#endif /* GLOWMCU_SIGNAL_WINDOW_H */

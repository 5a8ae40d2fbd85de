/*
 * glowmcu_requantized_back.h: from the gradient by stored results to that by a layer's sums.
 */
#ifndef GLOWMCU_REQUANTIZED_BACK_H
#define GLOWMCU_REQUANTIZED_BACK_H

#include "glowmcu_requantized_pixel.h"

/* `out` may be `gradient` where that has all pixels. */
GLOWMCU_CODE
static void glowmcu_requantized_back(const glowmcu_requantized_back_layer *p,
    const int16_t *gradient, const int32_t *common, const int8_t *stored, int16_t *out,
    int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1], p->bits);
    int32_t peak = 0;

    for (int32_t i = 0; i < p->pixels; ++i) {
        peak = glowmcu_requantized_pixel(p, gradient, 15 + shift, stored, peak, out);
        gradient += p->gradient_step;
        stored += p->channels;
        out += p->channels;
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_REQUANTIZED_BACK_H */

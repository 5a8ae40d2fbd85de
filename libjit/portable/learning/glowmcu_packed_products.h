/*
 * glowmcu_packed_products.h: products of a pixel's packed numbers with int8, channel by channel.
 */
#ifndef GLOWMCU_PACKED_PRODUCTS_H
#define GLOWMCU_PACKED_PRODUCTS_H

#include "glowmcu_dsp.h"
#include "glowmcu_packed_gradient.h"

/* Adds to `sums` the products of `channels` numbers, times `unit` each, with x + offset. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_packed_products(const int8_t *gradient, int32_t unit, const int8_t *x,
    int32_t offset, int32_t channels, int32_t *sums)
{
    int32_t c = 0;

#if GLOWMCU_HAS_DSP
    const uint32_t points = glowmcu_pack_low((uint32_t)offset, (uint32_t)offset);
    for (; c + 4 <= channels; c += 4) {
        const uint32_t numbers = glowmcu_load_word(gradient + c);
        const uint32_t word = glowmcu_load_word(x + c);
        uint32_t some = glowmcu_sxtb16(numbers);
        uint32_t others = glowmcu_sxtab16(points, word);
        sums[c] += glowmcu_low_half(some) * glowmcu_low_half(others) * unit;
        sums[c + 2] += glowmcu_high_half(some) * glowmcu_high_half(others) * unit;
        some = glowmcu_sxtb16_ror8(numbers);
        others = glowmcu_sxtab16_ror8(points, word);
        sums[c + 1] += glowmcu_low_half(some) * glowmcu_low_half(others) * unit;
        sums[c + 3] += glowmcu_high_half(some) * glowmcu_high_half(others) * unit;
    }
#endif
    for (; c < channels; ++c) {
        sums[c] += gradient[c] * (x[c] + offset) * unit;
    }
}

#endif /* GLOWMCU_PACKED_PRODUCTS_H */

/*
 * glowmcu_packed_gradient.h: gradients of images in int8, with a shift for each pixel.
 *
 * Behind a pixel's numbers lies by how many bits they are to the left: of these, all pixels share
 * exponent and peak, as gradients of int16 do.
 */
#ifndef GLOWMCU_PACKED_GRADIENT_H
#define GLOWMCU_PACKED_GRADIENT_H

#include "glowmcu_block_gradient.h"

/* What the numbers of a pixel are times; `shift` lies behind them. */
GLOWMCU_CODE
static inline int32_t glowmcu_packed_unit(const int8_t *shift)
{
    return (int32_t)1 << (*shift & 15);
}

/* The numbers of a pixel as int16. */
GLOWMCU_CODE
static void glowmcu_unpack_pixel(const int8_t *packed, int32_t channels, int16_t *row)
{
    const int32_t unit = glowmcu_packed_unit(packed + channels);

    for (int32_t c = 0; c < channels; ++c) {
        row[c] = (int16_t)(packed[c] * unit);
    }
}

/* A pixel's numbers, magnitudes up to `most`, by the least shift with which that fits; gives the
 * peak, which was `peak`, of what is stored. */
GLOWMCU_CODE
static int32_t glowmcu_pack_pixel(const int16_t *row, int32_t channels, int32_t most,
    int32_t peak, int8_t *packed)
{
    int32_t shift = 0;
    int32_t stored = 0;

    while (glowmcu_rounded_shift(most, shift) > 127) {
        ++shift;
    }
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t value = glowmcu_rounded_shift(row[c], shift);
        packed[c] = (int8_t)value;
        stored = glowmcu_peak(stored, value);
    }
    packed[channels] = (int8_t)shift;
    return glowmcu_peak(peak, stored * ((int32_t)1 << shift));
}

#endif /* GLOWMCU_PACKED_GRADIENT_H */

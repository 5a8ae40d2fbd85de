/*
 * glowmcu_requantized_packed.h: from the gradient by stored results to that by a layer's sums,
 * where one of them or both are packed. `scratch` has an int16 for each channel.
 */
#ifndef GLOWMCU_REQUANTIZED_PACKED_H
#define GLOWMCU_REQUANTIZED_PACKED_H

#include "glowmcu_packed_gradient.h"
#include "glowmcu_requantized_pixel.h"

/* From int16. `out` may begin where the gradient of all pixels does. */
GLOWMCU_CODE
static inline void glowmcu_requantized_to_packed(const glowmcu_requantized_back_layer *p,
    const int16_t *gradient, const int32_t *common, const int8_t *stored, int8_t *out,
    int32_t *out_common, void *scratch)
{
    const int32_t shift = glowmcu_excess(common[1], p->bits);
    int16_t *row = (int16_t *)scratch;
    int32_t peak = 0;

    for (int32_t i = 0; i < p->pixels; ++i) {
        const int32_t most = glowmcu_requantized_pixel(p, gradient, 15 + shift, stored, 0, row);
        peak = glowmcu_pack_pixel(row, p->channels, most, peak, out);
        gradient += p->gradient_step;
        stored += p->channels;
        out += p->channels + 1;
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

/* From packed numbers to such, which may be in their place. */
GLOWMCU_CODE
static inline void glowmcu_requantized_packed(const glowmcu_requantized_back_layer *p,
    const int8_t *gradient, const int32_t *common, const int8_t *stored, int8_t *out,
    int32_t *out_common, void *scratch)
{
    const int32_t shift = glowmcu_excess(common[1], p->bits);
    int16_t *row = (int16_t *)scratch;
    int32_t peak = 0;

    for (int32_t i = 0; i < p->pixels; ++i) {
        int32_t most;
        glowmcu_unpack_pixel(gradient, p->channels, row);
        most = glowmcu_requantized_pixel(p, row, 15 + shift, stored, 0, row);
        peak = glowmcu_pack_pixel(row, p->channels, most, peak, out);
        gradient += p->channels + 1;
        stored += p->channels;
        out += p->channels + 1;
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

/* From packed numbers to int16. */
GLOWMCU_CODE
static inline void glowmcu_requantized_from_packed(const glowmcu_requantized_back_layer *p,
    const int8_t *gradient, const int32_t *common, const int8_t *stored, int16_t *out,
    int32_t *out_common, void *scratch)
{
    const int32_t shift = glowmcu_excess(common[1], p->bits);
    int16_t *row = (int16_t *)scratch;
    int32_t peak = 0;

    for (int32_t i = 0; i < p->pixels; ++i) {
        glowmcu_unpack_pixel(gradient, p->channels, row);
        peak = glowmcu_requantized_pixel(p, row, 15 + shift, stored, peak, out);
        gradient += p->channels + 1;
        stored += p->channels;
        out += p->channels;
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_REQUANTIZED_PACKED_H */

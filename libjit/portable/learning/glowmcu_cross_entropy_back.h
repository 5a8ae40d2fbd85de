/*
 * glowmcu_cross_entropy_back.h: how cross entropy changes with scores.
 */
#ifndef GLOWMCU_CROSS_ENTROPY_BACK_H
#define GLOWMCU_CROSS_ENTROPY_BACK_H

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t classes;
    int32_t bits;
    int32_t step;           /* of the scores, times 2^16 */
    int32_t distances;      /* the exponential of a larger distance is 0 */
    const int16_t *table;   /* exponentials by the distance from the largest score, of 32767 */
} glowmcu_cross_entropy;

/* log2 of 1 <= value < 2^31, times 2^16. */
GLOWMCU_CODE
static inline int32_t glowmcu_binary_log(uint32_t value)
{
    uint32_t y = value;
    int32_t found = 15;

    while (y >= 0x10000u) {
        y >>= 1;
        ++found;
    }
    while (y < 0x8000u) {
        y <<= 1;
        --found;
    }
    for (int32_t i = 0; i < 16; ++i) {
        const uint32_t square = (y * y) >> 15;
        const uint32_t bit = square >> 16;
        y = square >> bit;
        found = 2 * found + (int32_t)bit;
    }
    return found;
}

GLOWMCU_CODE
static inline uint32_t glowmcu_exponential(const glowmcu_cross_entropy *p, int32_t distance)
{
    return (distance < p->distances) ? (uint32_t)p->table[distance] : 0u;
}

/* p - onehot(label), of 2^bits, with exponent and peak, and -log p[label] times 2^16. */
GLOWMCU_CODE
static void glowmcu_cross_entropy_back(const glowmcu_cross_entropy *p, const int8_t *scores,
    const int32_t *label, int16_t *out, int32_t *out_common, int32_t *loss)
{
    const int32_t is = *label;
    int32_t most = scores[0];
    int32_t peak = 0;
    uint32_t total = 0u;

    for (int32_t i = 1; i < p->classes; ++i) {
        most = (scores[i] > most) ? scores[i] : most;
    }
    for (int32_t i = 0; i < p->classes; ++i) {
        total += glowmcu_exponential(p, most - scores[i]);
    }
    *loss = 0;
    for (int32_t i = 0; i < p->classes; ++i) {
        const int32_t distance = most - scores[i];
        const uint32_t part = glowmcu_exponential(p, distance) << p->bits;
        int32_t value = (int32_t)((part + total / 2u) / total);
        if (i == is) {
            /* log 2 is 22713 / 2^15; log 32767 is 681389 / 2^16 */
            const int32_t sum = distance * p->step
                + (((glowmcu_binary_log(total) >> 5) * 22713) >> 10) - 681389;
            *loss = (sum > 0) ? sum : 0;
            value -= (int32_t)1 << p->bits;
        }
        out[i] = (int16_t)value;
        peak = glowmcu_peak(peak, value);
    }
    out_common[0] = -p->bits;
    out_common[1] = peak;
}

#endif /* GLOWMCU_CROSS_ENTROPY_BACK_H */

/*
 * glowmcu_roundf.h: float32 to whole numbers: down, up, towards zero, to nearest.
 */
#ifndef GLOWMCU_ROUNDF_H
#define GLOWMCU_ROUNDF_H

#include "glowmcu_math.h"

/* Towards zero; what is 2^23 or more is whole already. */
GLOWMCU_CODE
static inline float glowmcu_truncf(float x)
{
    if (!(glowmcu_absf(x) < 8388608.0f)) {
        return x;
    }
    return glowmcu_copysignf((float)(int32_t)x, x);
}

GLOWMCU_CODE
static inline float glowmcu_floorf(float x)
{
    const float whole = glowmcu_truncf(x);

    return whole > x ? whole - 1.0f : whole;
}

GLOWMCU_CODE
static inline float glowmcu_ceilf(float x)
{
    const float whole = glowmcu_truncf(x);

    return whole < x ? glowmcu_copysignf(whole + 1.0f, x) : whole;
}

/* Halves to the even neighbour. */
GLOWMCU_CODE
static inline float glowmcu_round_evenf(float x)
{
    const float whole = glowmcu_truncf(x);
    const float rest = glowmcu_absf(x - whole); /* exact */
    const int is_up = (rest > 0.5f || (rest == 0.5f && ((int32_t)whole & 1) != 0)) ? 1 : 0;

    return is_up ? whole + glowmcu_copysignf(1.0f, x) : whole;
}

#endif /* GLOWMCU_ROUNDF_H */

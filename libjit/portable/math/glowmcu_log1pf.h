/*
 * glowmcu_log1pf.h: log(1 + x) of float32.
 */
#ifndef GLOWMCU_LOG1PF_H
#define GLOWMCU_LOG1PF_H

#include "glowmcu_logf.h"

/* Kahan: what rounding 1 + x changes in the argument changes the result alike. */
GLOWMCU_CODE
static inline float glowmcu_log1pf(float x)
{
    const float u = 1.0f + x;

    if (u == 1.0f) {
        return x;
    }
    if (!(x < 1e9f)) {
        return glowmcu_logf(x);
    }
    return u > 0.0f ? glowmcu_logf(u) * (x / (u - 1.0f)) : glowmcu_logf(u);
}

#endif /* GLOWMCU_LOG1PF_H */

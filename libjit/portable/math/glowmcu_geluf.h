/*
 * glowmcu_geluf.h: x times the normal distribution function of x, float32.
 */
#ifndef GLOWMCU_GELUF_H
#define GLOWMCU_GELUF_H

#include "glowmcu_erff.h"
#include "glowmcu_tanhf.h"

GLOWMCU_CODE
static inline float glowmcu_geluf(float x)
{
    return 0.5f * x * (1.0f + glowmcu_erff(x * 0.707106781f));
}

GLOWMCU_CODE
static inline float glowmcu_gelu_tanhf(float x)
{
    return 0.5f * x * (1.0f + glowmcu_tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}

#endif /* GLOWMCU_GELUF_H */

/*
 * glowmcu_bounds.h: float32 activations that clamp; what is not a number stays so.
 */
#ifndef GLOWMCU_BOUNDS_H
#define GLOWMCU_BOUNDS_H

#include "glowmcu_base.h"

typedef struct {
    float low;
    float high;
} glowmcu_bounds;

typedef struct {
    float alpha;
} glowmcu_slope;

GLOWMCU_CODE
static inline float glowmcu_at_least(const glowmcu_bounds *p, float x)
{
    return x < p->low ? p->low : x;
}

GLOWMCU_CODE
static inline float glowmcu_at_most(const glowmcu_bounds *p, float x)
{
    return x > p->high ? p->high : x;
}

GLOWMCU_CODE
static inline float glowmcu_between(const glowmcu_bounds *p, float x)
{
    return glowmcu_at_most(p, glowmcu_at_least(p, x));
}

GLOWMCU_CODE
static inline float glowmcu_leaky_relu_one(const glowmcu_slope *p, float x)
{
    return x < 0.0f ? p->alpha * x : x;
}

/* x * min(max(x + 3, 0), 6) / 6 */
GLOWMCU_CODE
static inline float glowmcu_hard_swish_one(float x)
{
    const float shifted = x + 3.0f;
    const float gate = shifted > 6.0f ? 6.0f : shifted;

    return x * (gate < 0.0f ? 0.0f : gate) * 0.166666667f;
}

#endif /* GLOWMCU_BOUNDS_H */

/*
 * glowmcu_rescale.h: integers of one scale to integers of another.
 */
#ifndef GLOWMCU_RESCALE_H
#define GLOWMCU_RESCALE_H

#include "glowmcu_requantize.h"

typedef struct {
    int32_t in_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_rescale;

/* |x| * scale + |out_zero_point| < 2^31: the compiler has checked it for the type of x. */
GLOWMCU_CODE
static inline int32_t glowmcu_rescale_one(const glowmcu_rescale *p, int32_t x)
{
    const int32_t offset = (int32_t)((uint32_t)x - (uint32_t)p->in_zero_point);
    const int32_t value = glowmcu_requantize(offset, p->multiplier, p->shift);

    return glowmcu_clamp(value + p->out_zero_point, p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_RESCALE_H */

/*
 * glowmcu_clamping.h: what float layers do with their results: they stay, 0 takes the place of
 * negative ones, or both limits hold, of which one may be infinite.
 */
#ifndef GLOWMCU_CLAMPING_H
#define GLOWMCU_CLAMPING_H

#include "glowmcu_base.h"

#define GLOWMCU_KEEP 0
#define GLOWMCU_RELU 1 /* clamp_min is 0, and nothing is too large */
#define GLOWMCU_CLAMP 2

/* One result; what is not a number stays it. */
GLOWMCU_CODE
static inline float glowmcu_clamped_f32(float value, int32_t clamping, float low, float high)
{
    if (clamping == GLOWMCU_KEEP) {
        return value;
    }
    if (value < low) {
        return low;
    }
    return ((clamping == GLOWMCU_CLAMP) && (value > high)) ? high : value;
}

#endif /* GLOWMCU_CLAMPING_H */

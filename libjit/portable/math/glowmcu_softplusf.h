/*
 * glowmcu_softplusf.h: log(1 + exp(x)) of float32.
 */
#ifndef GLOWMCU_SOFTPLUSF_H
#define GLOWMCU_SOFTPLUSF_H

#include "glowmcu_expf.h"
#include "glowmcu_log1pf.h"

GLOWMCU_CODE
static inline float glowmcu_softplusf(float x)
{
    const float tail = glowmcu_log1pf(glowmcu_expf(-glowmcu_absf(x)));

    return x > 0.0f ? x + tail : tail;
}

#endif /* GLOWMCU_SOFTPLUSF_H */

/*
 * glowmcu_logisticf.h: 1 / (1 + exp(-x)) of float32.
 */
#ifndef GLOWMCU_LOGISTICF_H
#define GLOWMCU_LOGISTICF_H

#include "glowmcu_expf.h"

GLOWMCU_CODE
static inline float glowmcu_logisticf(float x)
{
    const float e = glowmcu_expf(-glowmcu_absf(x));

    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

#endif /* GLOWMCU_LOGISTICF_H */

/*
 * glowmcu_exponential_activations.h: float32 activations made of exp.
 */
#ifndef GLOWMCU_EXPONENTIAL_ACTIVATIONS_H
#define GLOWMCU_EXPONENTIAL_ACTIVATIONS_H

#include "glowmcu_activations.h"
#include "glowmcu_expf.h"

/* gamma * (x > 0 ? x : alpha * (exp(x) - 1)) */
GLOWMCU_CODE
static inline float glowmcu_selu_one(const glowmcu_activation *p, float x)
{
    return p->gamma * (x > 0.0f ? x : p->alpha * glowmcu_expm1f(x));
}

/* x > 0 ? x : alpha * (exp(x / alpha) - 1) */
GLOWMCU_CODE
static inline float glowmcu_celu_one(const glowmcu_activation *p, float x)
{
    return x > 0.0f ? x : p->alpha * glowmcu_expm1f(x / p->alpha);
}

GLOWMCU_CODE
static inline float glowmcu_elu_one(float x)
{
    return x < 0.0f ? glowmcu_expm1f(x) : x;
}

/* x / (1 + exp(-alpha * x)) */
GLOWMCU_CODE
static inline float glowmcu_swish_one(const glowmcu_activation *p, float x)
{
    return x / (1.0f + glowmcu_expf(-p->alpha * x));
}

/* x * tanh(log(1 + exp(x))); with n = exp(x) the tangent is n (n + 2) / (n (n + 2) + 2). */
GLOWMCU_CODE
static inline float glowmcu_mish_one(float x)
{
    float n;

    if (x > 20.0f) {
        return x;
    }
    n = glowmcu_expf(x);
    n = n * (n + 2.0f);
    return x * (n / (n + 2.0f));
}

#endif /* GLOWMCU_EXPONENTIAL_ACTIVATIONS_H */

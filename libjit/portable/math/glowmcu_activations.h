/*
 * glowmcu_activations.h: float32 activations with parameters.
 */
#ifndef GLOWMCU_ACTIVATIONS_H
#define GLOWMCU_ACTIVATIONS_H

#include "glowmcu_math.h"

typedef struct {
    float alpha;
    float gamma;
} glowmcu_activation;

/* 1 / (1 + |x|) times x. */
GLOWMCU_CODE
static inline float glowmcu_softsign_one(float x)
{
    return x / (1.0f + glowmcu_absf(x));
}

/* alpha * x + gamma within [0, 1]. */
GLOWMCU_CODE
static inline float glowmcu_hard_sigmoid_one(const glowmcu_activation *p, float x)
{
    const float value = p->alpha * x + p->gamma;

    return value < 0.0f ? 0.0f : (value > 1.0f ? 1.0f : value);
}

GLOWMCU_CODE
static inline float glowmcu_thresholded_relu_one(const glowmcu_activation *p, float x)
{
    return x > p->alpha ? x : 0.0f;
}

/* x moved by gamma towards 0 where |x| > alpha, else 0. */
GLOWMCU_CODE
static inline float glowmcu_shrink_one(const glowmcu_activation *p, float x)
{
    return x < -p->alpha ? x + p->gamma : (x > p->alpha ? x - p->gamma : 0.0f);
}

GLOWMCU_CODE
static inline float glowmcu_sign_one(float x)
{
    return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x);
}

#endif /* GLOWMCU_ACTIVATIONS_H */

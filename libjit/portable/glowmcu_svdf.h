/*
 * glowmcu_svdf.h: rank-1 filters over time, int8.
 */
#ifndef GLOWMCU_SVDF_H
#define GLOWMCU_SVDF_H

#include "glowmcu_requantize.h"

/* The state of a filter is [memory], oldest first; filters of a unit follow each other. */
typedef struct {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t rank;
    int32_t memory;
    int32_t feature_multiplier; /* of F x, to the state */
    int32_t feature_shift;
    int32_t state_zero_point;
    int32_t state_min; /* in front of the zero point, with which a sum wraps */
    int32_t state_max;
    int32_t time_multiplier; /* of the sums over time, to the result */
    int32_t time_shift;
    int32_t out_zero_point;
    const int32_t *feature_biases; /* [units][rank]: the input's zero point folded in */
    const int32_t *biases;         /* [units]: the state's zero point folded in */
    const int8_t *features;        /* [units][rank][depth] */
    const void *times;             /* [units][rank][memory] of the state's type */
} glowmcu_svdf;

/* What a filter makes of the input, without the state's zero point. */
GLOWMCU_CODE
static int32_t glowmcu_svdf_feature(const glowmcu_svdf *p, const int8_t *x,
    const int8_t *features, int32_t bias)
{
    int32_t sum = bias;

    for (int32_t i = 0; i < p->depth; ++i) {
        sum += x[i] * features[i];
    }
    sum = glowmcu_requantize(sum, p->feature_multiplier, p->feature_shift);
    return glowmcu_clamp(sum, p->state_min, p->state_max) + p->state_zero_point;
}

/* A result from its sum, which wraps as the reference's does. */
GLOWMCU_CODE
static inline int8_t glowmcu_svdf_result(const glowmcu_svdf *p, uint32_t sum)
{
    const int32_t scaled =
        glowmcu_requantize((int32_t)sum, p->time_multiplier, p->time_shift);

    return (int8_t)glowmcu_clamp(glowmcu_clamp(scaled, -65536, 65536) + p->out_zero_point,
        -128, 127);
}

#endif /* GLOWMCU_SVDF_H */

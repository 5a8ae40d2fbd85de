/*
 * glowmcu_trigonometry.h: float32 arguments in quadrants, exactly however large; sine and cosine
 * there.
 */
#ifndef GLOWMCU_TRIGONOMETRY_H
#define GLOWMCU_TRIGONOMETRY_H

#include "glowmcu_math.h"

typedef struct {
    int32_t quadrant; /* 0 to 3 */
    float rest;       /* |x| = quadrant * pi/2 + rest (modulo 2 pi), |rest| <= pi/4 */
} glowmcu_angle;

/* 32 zeros, then 2/pi */
static const uint32_t glowmcu_angle_inverse[8] = {
    0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
};

/*
 * |x| = m * 2^e. 96 bits of 2/pi * 2^e, from weight 2 downwards, times m are the quadrant in the
 * upper two bits and a fraction of it in the others.
 */
GLOWMCU_CODE
static inline glowmcu_angle glowmcu_angle_of(float x)
{
    const uint32_t bits = glowmcu_float_bits(x) & 0x7fffffffu;
    glowmcu_angle angle;
    uint32_t window[3];
    uint64_t turn;
    uint32_t start;
    uint32_t mantissa;

    angle.quadrant = 0;
    angle.rest = glowmcu_absf(x);
    if (bits < 0x3f490fdau) { /* pi/4 */
        return angle;
    }
    if (bits >= 0x7f800000u) {
        angle.rest = glowmcu_not_a_number();
        return angle;
    }
    start = (bits >> 23) - 120u; /* 6 to 134 */
    mantissa = (bits & 0x007fffffu) | 0x00800000u;
    for (uint32_t i = 0; i < 3u; ++i) {
        const uint32_t *word = glowmcu_angle_inverse + (start >> 5) + i;
        const uint64_t pair = ((uint64_t)word[0] << 32) | word[1];
        window[i] = (uint32_t)((pair << (start & 31u)) >> 32);
    }
    turn = ((uint64_t)(mantissa * window[0]) << 32) + (uint64_t)mantissa * window[1]
        + (((uint64_t)mantissa * window[2]) >> 32);
    angle.quadrant = (int32_t)((turn + ((uint64_t)1 << 61)) >> 62);
    turn -= (uint64_t)(uint32_t)angle.quadrant << 62;
    /* The sign is taken apart, since a conversion to int64_t beyond its range is left open. */
    angle.rest = (turn >> 63) != 0u ? -(float)(~turn + 1u) : (float)turn;
    angle.rest *= 3.40612158e-19f; /* pi/2 * 2^-62 */
    return angle;
}

GLOWMCU_CODE
static inline float glowmcu_sine_near_0(float r)
{
    const float z = r * r;

    return r + r * z * ((-0.00019517234f * z + 0.008332178f) * z - 0.16666655f);
}

GLOWMCU_CODE
static inline float glowmcu_cosine_near_0(float r)
{
    const float z = r * r;

    return 1.0f - 0.5f * z + z * z * ((2.4438377e-05f * z - 0.0013887367f) * z + 0.041666646f);
}

#endif /* GLOWMCU_TRIGONOMETRY_H */

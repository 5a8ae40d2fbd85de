/*
 * glowmcu_logf.h: natural logarithm of float32.
 */
#ifndef GLOWMCU_LOGF_H
#define GLOWMCU_LOGF_H

#include "glowmcu_math.h"

/* -inf for 0, not a number below. */
GLOWMCU_CODE
static inline float glowmcu_logf(float x)
{
    uint32_t bits = glowmcu_float_bits(x);
    int32_t exponent = 0;
    float f;
    float s;
    float z;

    if (bits - 0x00800000u >= 0x7f000000u) { /* not positive, normal and finite */
        if ((bits << 1) == 0u) {
            return -glowmcu_infinity();
        }
        if (bits >= 0x7f800000u) {
            return bits == 0x7f800000u ? x : glowmcu_not_a_number();
        }
        bits = glowmcu_float_bits(x * 8388608.0f); /* a subnormal number times 2^23 */
        exponent = -23;
    }
    /* x = (1 + f) * 2^exponent, sqrt(1/2) <= 1 + f < sqrt(2) */
    bits += 0x3f800000u - 0x3f3504f3u;
    exponent += (int32_t)(bits >> 23) - 127;
    f = glowmcu_float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    s = f / (2.0f + f); /* log(1 + f) = 2 artanh(s) */
    z = s * s;
    s = 2.0f * s + s * z * ((0.29872313f * z + 0.3997752f) * z + 0.66666776f);
    return (s - (float)exponent * 2.12194440e-4f) + (float)exponent * 0.693359375f;
}

#endif /* GLOWMCU_LOGF_H */

/*
 * glowmcu_powf.h: x to the power of y, float32.
 */
#ifndef GLOWMCU_POWF_H
#define GLOWMCU_POWF_H

#include "glowmcu_math.h"

/* An unevaluated sum; |low| is at most about half a last place of `high`. */
typedef struct {
    float high;
    float low;
} glowmcu_float_pair;

/* The upper 12 bits of the mantissa: products of two such numbers are exact. */
GLOWMCU_CODE
static inline float glowmcu_upper_half(float x)
{
    return glowmcu_float_of_bits(glowmcu_float_bits(x) & 0xfffff000u);
}

/* a * b, exactly. */
GLOWMCU_CODE
static inline glowmcu_float_pair glowmcu_exact_product(float a, float b)
{
    const float ah = glowmcu_upper_half(a);
    const float bh = glowmcu_upper_half(b);
    const float al = a - ah;
    const float bl = b - bh;
    glowmcu_float_pair product;

    product.high = a * b;
    product.low = (((ah * bh - product.high) + ah * bl) + al * bh) + al * bl;
    return product;
}

/* log2 of a positive finite number to about 2^-36 of it. */
GLOWMCU_CODE
static inline glowmcu_float_pair glowmcu_log2_pair(float x)
{
    uint32_t bits = glowmcu_float_bits(x);
    int32_t exponent = 0;
    glowmcu_float_pair s;
    glowmcu_float_pair result;
    float m;
    float sum;
    float z;

    if (bits < 0x00800000u) {
        bits = glowmcu_float_bits(x * 8388608.0f);
        exponent = -23;
    }
    bits += 0x3f800000u - 0x3f3504f3u;
    exponent += (int32_t)(bits >> 23) - 127;
    m = glowmcu_float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u);
    /* s = (m - 1) / (m + 1); log(m) = 2 artanh(s) */
    sum = m + 1.0f;
    s.high = (m - 1.0f) / sum;
    result = glowmcu_exact_product(s.high, sum);
    s.low = ((((m - 1.0f) - result.high) - result.low) - s.high * (m - (sum - 1.0f))) / sum;
    z = s.high * s.high;
    s.low += 0.5f * s.high * z
        * (((0.23582768f * z + 0.2853728f) * z + 0.40000334f) * z + 0.6666666f);
    /* times 2 / log(2) = 2.884765625 + 0.000624456... */
    s.high *= 2.0f;
    s.low *= 2.0f;
    result = glowmcu_exact_product(s.high, 1.4423828f);
    result.low += s.high * 3.1222844e-4f + s.low * 1.44269504f;
    m = (float)exponent + result.high;
    /* The exponent is 0 or the larger part. */
    result.low += exponent == 0 ? 0.0f : result.high - (m - (float)exponent);
    result.high = m + result.low;
    result.low += m - result.high;
    return result;
}

/* 2^(x.high + x.low), x.high finite. */
GLOWMCU_CODE
static inline float glowmcu_exp2_pair(glowmcu_float_pair x)
{
    int32_t whole;
    int32_t half;
    float r;

    if (x.high >= 129.0f) {
        return glowmcu_infinity();
    }
    if (x.high <= -151.0f) {
        return 0.0f;
    }
    whole = (int32_t)(x.high + (x.high < 0.0f ? -0.5f : 0.5f));
    r = (x.high - (float)whole) + x.low;
    r = 1.0f + r * ((((((1.5314972e-05f * r + 0.00015467136f) * r + 0.0013333431f) * r
        + 0.009618036f) * r + 0.05550411f) * r + 0.2402265f) * r + 0.6931472f);
    half = whole >> 1;
    return r * glowmcu_power_of_two(half) * glowmcu_power_of_two(whole - half);
}

/* 0: no integer, 1: odd, 2: even; for finite y. */
GLOWMCU_CODE
static inline int32_t glowmcu_parity(float y)
{
    const float a = glowmcu_absf(y);
    int32_t whole;

    if (a >= 16777216.0f) {
        return 2;
    }
    whole = (int32_t)a;
    if ((float)whole != a) {
        return 0;
    }
    return (whole & 1) != 0 ? 1 : 2;
}

/* |x|^y where that is neither 1 nor needs a logarithm: x is 0 or infinite, or y is infinite. */
GLOWMCU_CODE
static inline float glowmcu_pow_of_extremes(float a, float y)
{
    const int is_large = (a > 1.0f) ? 1 : 0;

    if (a == 1.0f) {
        return 1.0f;
    }
    return (is_large != 0) == (y > 0.0f) ? glowmcu_infinity() : 0.0f;
}

/* As C99's pow: 1 for y = 0 and for x = 1, not a number for x < 0 and broken y. */
GLOWMCU_CODE
static inline float glowmcu_powf(float x, float y)
{
    const float a = glowmcu_absf(x);
    const int is_infinite_y = (glowmcu_absf(y) == glowmcu_infinity()) ? 1 : 0;
    float value;
    int32_t parity;

    if (y == 0.0f || x == 1.0f) {
        return 1.0f;
    }
    if (x != x || y != y) {
        return glowmcu_not_a_number();
    }
    parity = is_infinite_y ? 2 : glowmcu_parity(y);
    if (a == 0.0f || a == glowmcu_infinity() || is_infinite_y) {
        value = glowmcu_pow_of_extremes(a, y);
    } else if (x < 0.0f && parity == 0) {
        return glowmcu_not_a_number();
    } else if (glowmcu_absf(y) > 1e10f) {
        value = glowmcu_pow_of_extremes(a, y);
    } else {
        const glowmcu_float_pair logarithm = glowmcu_log2_pair(a);
        glowmcu_float_pair power = { 0.0f, 0.0f };
        if (glowmcu_absf(logarithm.high * y) >= 200.0f) {
            power.high = (logarithm.high > 0.0f) == (y > 0.0f) ? 200.0f : -200.0f;
        } else {
            power = glowmcu_exact_product(logarithm.high, y);
            power.low += logarithm.low * y;
        }
        value = glowmcu_exp2_pair(power);
    }
    return parity == 1 ? glowmcu_copysignf(value, x) : value;
}

#endif /* GLOWMCU_POWF_H */

/*
 * glowmcu_exp_wide.h: e^x in double, for results that are rounded to float32 at last.
 */
#ifndef GLOWMCU_EXP_WIDE_H
#define GLOWMCU_EXP_WIDE_H

#include "glowmcu_math.h"

/* 1 / n! for n from 0: the series ends where 0.35^n / n! is beyond the last place of 1. */
#define GLOWMCU_EXP_WIDE_TERMS 15

/*
 * With x = k ln 2 + r, |r| <= ln 2 / 2: 2^k e^r, within two units in the last place. Below -708 it
 * is 0: times any float32 it would be.
 */
GLOWMCU_CODE
static double glowmcu_exp_wide(double x)
{
    static const double factors[GLOWMCU_EXP_WIDE_TERMS] = {
        1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0,
        1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0,
        1.0 / 6227020800.0, 1.0 / 87178291200.0
    };
    double power = factors[GLOWMCU_EXP_WIDE_TERMS - 1];
    double rest;
    int32_t k;

    if (x < -708.0) {
        return 0.0;
    }
    if (!(x <= 709.782712893384)) {
        return x * (double)glowmcu_infinity(); /* not a number stays what it is */
    }
    k = (int32_t)(x * 1.4426950408889634 + ((x < 0.0) ? -0.5 : 0.5));
    /* ln 2 in two parts, the first so short that its product is exact. */
    rest = (x - (double)k * 0.693147180369123816490) - (double)k * 1.90821492927058770002e-10;
    for (int32_t n = GLOWMCU_EXP_WIDE_TERMS - 2; n >= 0; --n) {
        power = power * rest + factors[n];
    }
    while (k > 127) {
        power *= (double)glowmcu_power_of_two(127);
        k -= 127;
    }
    while (k < -126) {
        power *= (double)glowmcu_power_of_two(-126);
        k += 126;
    }
    return power * (double)glowmcu_power_of_two(k);
}

/* The float32 next to `x`, infinite beyond their range. */
GLOWMCU_CODE
static inline float glowmcu_narrow(double x)
{
    const double end = 3.4028235677973366e38; /* halfway from the greatest to 2^128 */

    if (x >= end) {
        return glowmcu_infinity();
    }
    return (x <= -end) ? -glowmcu_infinity() : (float)x;
}

#endif /* GLOWMCU_EXP_WIDE_H */

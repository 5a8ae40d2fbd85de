/*
 * glowmcu_exp.h: exp of a negative number, exactly as gemmlowp does.
 */
#ifndef GLOWMCU_EXP_H
#define GLOWMCU_EXP_H

#include "glowmcu_requantize.h"

/* exp(a) in Q0.31 for `a` in [-1/4, 0), Q0.31: Taylor's series around -1/8. */
GLOWMCU_CODE
static inline int32_t glowmcu_exp_near_0(int32_t a)
{
    const int32_t x = a + ((int32_t)1 << 28);
    const int32_t x2 = glowmcu_doubling_high_mul(x, x);
    const int32_t x3 = glowmcu_doubling_high_mul(x2, x);
    const int32_t x4_4 = glowmcu_divide_by_pot(glowmcu_doubling_high_mul(x2, x2), 2);
    const int32_t cubic = glowmcu_doubling_high_mul(x4_4 + x3, 715827883) + x2;

    return 1895147668
        + glowmcu_doubling_high_mul(x + glowmcu_divide_by_pot(cubic, 1), 1895147668);
}

/* exp(-1/4), exp(-1/2), exp(-1), ..., exp(-16) in Q0.31 */
static const int32_t glowmcu_exp_factors[7] = {
    1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242
};

/* exp(a) in Q0.31 for a <= 0 in Q5.26. */
GLOWMCU_CODE
static inline int32_t glowmcu_exp_q5(int32_t a)
{
    const int32_t quarter = (int32_t)1 << 24;
    const int32_t inside = (a & (quarter - 1)) - quarter;
    const int32_t remainder = inside - a; /* a multiple of 1/4, the rest is in `inside` */
    int32_t result = glowmcu_exp_near_0(inside * 32);

    if (a == 0) {
        return INT32_MAX;
    }
    for (int32_t bit = 0; bit < 7; ++bit) {
        if (((remainder >> (24 + bit)) & 1) != 0) {
            result = glowmcu_doubling_high_mul(result, glowmcu_exp_factors[bit]);
        }
    }
    return result;
}

#endif /* GLOWMCU_EXP_H */

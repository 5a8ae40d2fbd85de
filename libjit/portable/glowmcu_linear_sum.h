/*
 * glowmcu_linear_sum.h: int8 add and sub of whole tensors where one line of int32 arithmetic gives
 * the literal result; the compiler has checked every pair of operands.
 */
#ifndef GLOWMCU_LINEAR_SUM_H
#define GLOWMCU_LINEAR_SUM_H

#include "glowmcu_broadcast.h"
#include "glowmcu_line.h"

typedef struct {
    int32_t p;
    int32_t q;
    int32_t c; /* |c + a * p| and |c + a * p + b * q| < 2^31 */
    glowmcu_walk walk;
} glowmcu_linear_sum;

GLOWMCU_CODE
static inline void glowmcu_linear_sum_run(const void *parameters, const glowmcu_walk *walk,
    const int8_t *a, const int8_t *b, int8_t *out)
{
    const glowmcu_linear_sum *s = (const glowmcu_linear_sum *)parameters;
    const int32_t p = s->p;
    const int32_t q = s->q;
    const int32_t c = s->c;
    const int32_t step_a = walk->step_a;
    const int32_t step_b = walk->step_b;
    int32_t left = walk->run;

    if (step_a == 1 && step_b == 1) {
        for (; left >= 4; left -= 4) {
            const int32_t sum0 = c + a[0] * p + b[0] * q;
            const int32_t sum1 = c + a[1] * p + b[1] * q;
            const int32_t sum2 = c + a[2] * p + b[2] * q;
            const int32_t sum3 = c + a[3] * p + b[3] * q;
            out[0] = (int8_t)glowmcu_line_out(sum0);
            out[1] = (int8_t)glowmcu_line_out(sum1);
            out[2] = (int8_t)glowmcu_line_out(sum2);
            out[3] = (int8_t)glowmcu_line_out(sum3);
            a += 4;
            b += 4;
            out += 4;
        }
    }
    for (; left > 0; --left) {
        *out = (int8_t)glowmcu_line_out(c + *a * p + *b * q);
        a += step_a;
        b += step_b;
        ++out;
    }
}

/*
 * saturate((a * p + b * q + c) >> 22). Shapes as `p->walk` says. `out` may be the same memory as an
 * operand with as many elements.
 */
GLOWMCU_CODE
static void glowmcu_linear_sum_s8(const glowmcu_linear_sum *p, const int8_t *a, const int8_t *b,
    int8_t *out)
{
    glowmcu_broadcast_runs_s8(glowmcu_linear_sum_run, p, &p->walk, a, b, out);
}

#endif /* GLOWMCU_LINEAR_SUM_H */

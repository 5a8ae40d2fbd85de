/*
 * glowmcu_linear_sum.h: int8 add and sub of whole tensors where one line of int32 arithmetic gives
 * the literal result; the compiler has checked every pair of operands.
 */
#ifndef GLOWMCU_LINEAR_SUM_H
#define GLOWMCU_LINEAR_SUM_H

#include "glowmcu_broadcast.h"

#define GLOWMCU_LINEAR_SUM_SHIFT 22

typedef struct {
    int32_t p;
    int32_t q;
    int32_t c; /* |c + a * p| and |c + a * p + b * q| < 2^31 */
    glowmcu_walk walk;
} glowmcu_linear_sum;

static inline int8_t glowmcu_linear_sum_one(int32_t sum)
{
    const int32_t out = sum >> GLOWMCU_LINEAR_SUM_SHIFT;

    return (int8_t)((out < -128) ? -128 : ((out > 127) ? 127 : out));
}

static inline void glowmcu_linear_sum_run(const void *parameters, const glowmcu_walk *walk,
    const int8_t *a, const int8_t *b, int8_t *out)
{
    const glowmcu_linear_sum *s = (const glowmcu_linear_sum *)parameters;
    const int32_t p = s->p;
    const int32_t q = s->q;
    const int32_t c = s->c;
    const int32_t step_a = walk->step_a;
    const int32_t step_b = walk->step_b;
    const int8_t *end = out + walk->run;

    while (end - out >= 2) {
        const int32_t first = c + a[0] * p + b[0] * q;
        const int32_t second = c + a[step_a] * p + b[step_b] * q;
        out[0] = glowmcu_linear_sum_one(first);
        out[1] = glowmcu_linear_sum_one(second);
        a += 2 * step_a;
        b += 2 * step_b;
        out += 2;
    }
    if (out < end) {
        *out = glowmcu_linear_sum_one(c + *a * p + *b * q);
    }
}

/*
 * saturate((a * p + b * q + c) >> 22). Shapes as `p->walk` says. `out` may be the same memory as an
 * operand with as many elements.
 */
static void glowmcu_linear_sum_s8(const glowmcu_linear_sum *p, const int8_t *a, const int8_t *b,
    int8_t *out)
{
    glowmcu_broadcast_runs_s8(glowmcu_linear_sum_run, p, &p->walk, a, b, out);
}

#endif /* GLOWMCU_LINEAR_SUM_H */

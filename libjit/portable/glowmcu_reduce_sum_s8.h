/*
 * glowmcu_reduce_sum_s8.h: sums and means of int8 along any axes.
 */
#ifndef GLOWMCU_REDUCE_SUM_S8_H
#define GLOWMCU_REDUCE_SUM_S8_H

#include "glowmcu_reduce_sum.h"

/* Results are written one behind the other; `in` and `out` may not overlap. */
GLOWMCU_CODE
static void glowmcu_reduce_sum_s8(const glowmcu_reduce_sum *p, const int8_t *in, int8_t *out)
{
    const int32_t *innermost = p->loops + 2 * (p->out_loops + p->sum_loops - 1);
    glowmcu_reduce_walk result;

    glowmcu_reduce_walk_start(&result, p->loops, p->out_loops);
    do {
        int32_t acc = p->offset;
        int32_t value;
        glowmcu_reduce_walk group;
        glowmcu_reduce_walk_start(&group, p->loops + 2 * p->out_loops, p->sum_loops - 1);
        do {
            const int8_t *x = in + result.offset + group.offset;
            for (int32_t i = 0; i < innermost[0]; ++i) {
                acc += x[i * innermost[1]];
            }
        } while (glowmcu_reduce_walk_next(&group) != 0);
        value = glowmcu_requantize(acc, p->multiplier, p->shift) + p->out_zero_point;
        *out = (int8_t)glowmcu_clamp(value, -128, 127);
        ++out;
    } while (glowmcu_reduce_walk_next(&result) != 0);
}

#endif /* GLOWMCU_REDUCE_SUM_S8_H */

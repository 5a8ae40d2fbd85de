/*
 * glowmcu_reduce_extreme.h: the largest or smallest int8 (or bool) along any axes.
 */
#ifndef GLOWMCU_REDUCE_EXTREME_H
#define GLOWMCU_REDUCE_EXTREME_H

#include "glowmcu_reduce.h"

typedef struct {
    int32_t out_loops;    /* loops over results; those over what is compared come behind them */
    int32_t group_loops;  /* at least 1 */
    int32_t flip;         /* 0 for the largest; -1 for the smallest: ~x turns the order round */
    const int32_t *loops; /* [out_loops + group_loops][2]: count, step in elements */
} glowmcu_reduce_extreme;

/* Results are written one behind the other; `in` and `out` may not overlap. */
GLOWMCU_CODE
static void glowmcu_reduce_extreme_s8(const glowmcu_reduce_extreme *p, const void *in, void *out)
{
    const int8_t *from = (const int8_t *)in;
    int8_t *to = (int8_t *)out;
    const int32_t *innermost = p->loops + 2 * (p->out_loops + p->group_loops - 1);
    glowmcu_reduce_walk result;

    glowmcu_reduce_walk_start(&result, p->loops, p->out_loops);
    do {
        int32_t best = -128;
        glowmcu_reduce_walk group;
        glowmcu_reduce_walk_start(&group, p->loops + 2 * p->out_loops, p->group_loops - 1);
        do {
            const int8_t *x = from + result.offset + group.offset;
            for (int32_t i = 0; i < innermost[0]; ++i) {
                const int32_t value = x[i * innermost[1]] ^ p->flip;
                best = (value > best) ? value : best;
            }
        } while (glowmcu_reduce_walk_next(&group) != 0);
        *to = (int8_t)(best ^ p->flip);
        ++to;
    } while (glowmcu_reduce_walk_next(&result) != 0);
}

#endif /* GLOWMCU_REDUCE_EXTREME_H */

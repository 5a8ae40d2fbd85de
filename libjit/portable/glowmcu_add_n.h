/*
 * glowmcu_add_n.h: the sum of many int8 elements of one scale, on another.
 */
#ifndef GLOWMCU_ADD_N_H
#define GLOWMCU_ADD_N_H

#include "glowmcu_requantize.h"

typedef struct {
    int32_t zero_points; /* the operands' zero point, for each of them and once more */
    int32_t out_multiplier;
    int32_t out_shift;   /* at most 0 */
    int32_t out_zero_point;
} glowmcu_add_n;

/* `sum` is of stored values. Times 2^19 it is modulo 2^32, as in the reference kernel. */
GLOWMCU_CODE
static inline int32_t glowmcu_add_n_one(const glowmcu_add_n *p, int32_t sum)
{
    const int32_t scaled = (int32_t)((uint32_t)(sum - p->zero_points) << 19);
    const int32_t out = glowmcu_requantize(scaled, p->out_multiplier, p->out_shift);

    return glowmcu_clamp(out + p->out_zero_point, -128, 127);
}

#endif /* GLOWMCU_ADD_N_H */

/*
 * glowmcu_reduce_sum.h: what sums and means of all element types share.
 */
#ifndef GLOWMCU_REDUCE_SUM_H
#define GLOWMCU_REDUCE_SUM_H

#include "glowmcu_reduce.h"
#include "glowmcu_requantize.h"

typedef struct {
    int32_t out_loops;     /* loops over results; those over what is added come behind them */
    int32_t sum_loops;     /* at least 1 */
    int32_t offset;        /* -input zero point * elements of one result */
    int32_t multiplier;
    int32_t shift;
    int32_t out_zero_point;
    const int32_t *loops;  /* [out_loops + sum_loops][2]: count, step in elements */
} glowmcu_reduce_sum;

#endif /* GLOWMCU_REDUCE_SUM_H */

/*
 * glowmcu_reduce.h: visits the elements that go into one result of a reduction.
 */
#ifndef GLOWMCU_REDUCE_H
#define GLOWMCU_REDUCE_H

#include "glowmcu_base.h"

#define GLOWMCU_REDUCE_LOOPS 8

/* Nested loops over elements: [count][2], outermost first: how often, and by how many elements. */
typedef struct {
    const int32_t *loops;
    int32_t count; /* 0 to GLOWMCU_REDUCE_LOOPS */
    int32_t at[GLOWMCU_REDUCE_LOOPS];
    int32_t offset; /* of the current element */
} glowmcu_reduce_walk;

GLOWMCU_CODE
static inline void glowmcu_reduce_walk_start(glowmcu_reduce_walk *walk, const int32_t *loops,
    int32_t count)
{
    walk->loops = loops;
    walk->count = count;
    walk->offset = 0;
    for (int32_t axis = 0; axis < count; ++axis) {
        walk->at[axis] = 0;
    }
}

/* One step; 0 when all elements have been seen. */
GLOWMCU_CODE
static inline int32_t glowmcu_reduce_walk_next(glowmcu_reduce_walk *walk)
{
    for (int32_t axis = walk->count - 1; axis >= 0; --axis) {
        const int32_t *loop = walk->loops + 2 * axis;
        walk->offset += loop[1];
        if (++walk->at[axis] < loop[0]) {
            return 1;
        }
        walk->offset -= loop[0] * loop[1];
        walk->at[axis] = 0;
    }
    return 0;
}

#endif /* GLOWMCU_REDUCE_H */

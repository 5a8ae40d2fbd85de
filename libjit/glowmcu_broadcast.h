/*
 * glowmcu_broadcast.h: the one loop of all operators on two int8 tensors, which may broadcast.
 *
 * `walk` says how: [0] outer axes, [1] elements of a run, [2] [3] what a and b step an element (1, or
 * 0 where an operand repeats); then for each outer axis, innermost first, its size and by how much a
 * and b jump when it advances. Tensors of one shape are a single run.
 */
#ifndef GLOWMCU_BROADCAST_H
#define GLOWMCU_BROADCAST_H

#include "glowmcu_base.h"

#define GLOWMCU_BROADCAST_AXES 5

/* What an operator does to one element; `p` are its parameters. */
typedef int32_t (*glowmcu_pair_function)(const void *p, int32_t a, int32_t b);

/*
 * `out` may be the same memory as an operand that has as many elements. Inlined into each operator,
 * with the call of `one`.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_broadcast_s8(glowmcu_pair_function one, const void *p,
    const int32_t *walk, const int8_t *a, const int8_t *b, int8_t *out)
{
    const int32_t axes = walk[0];
    const int32_t run = walk[1];
    const int32_t step_a = walk[2];
    const int32_t step_b = walk[3];
    int32_t left[GLOWMCU_BROADCAST_AXES];
    int32_t axis;

    for (axis = 0; axis < axes; ++axis) {
        left[axis] = walk[4 + 3 * axis];
    }
    do {
        for (int32_t i = 0; i < run; ++i) {
            *out = (int8_t)one(p, *a, *b);
            ++out;
            a += step_a;
            b += step_b;
        }
        for (axis = 0; axis < axes; ++axis) {
            const int32_t *jump = walk + 4 + 3 * axis;
            a += jump[1];
            b += jump[2];
            --left[axis];
            if (left[axis] > 0) {
                break;
            }
            left[axis] = jump[0];
        }
    } while (axis < axes);
}

#endif /* GLOWMCU_BROADCAST_H */

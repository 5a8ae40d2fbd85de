/*
 * glowmcu_broadcast.h: the one loop of all operators on two int8 tensors, which may broadcast.
 */
#ifndef GLOWMCU_BROADCAST_H
#define GLOWMCU_BROADCAST_H

#include "glowmcu_base.h"

#define GLOWMCU_BROADCAST_AXES 5

/* How two operands and the result are walked. Tensors of one shape are a single run, no axes. */
typedef struct {
    int32_t run;         /* elements of the innermost axis */
    int32_t step_a;      /* from one of them to the next: 1, or 0 where an operand repeats */
    int32_t step_b;
    int32_t axes;        /* outer axes, at most GLOWMCU_BROADCAST_AXES */
    const int32_t *axis; /* [axes][3], innermost first: size, jumps of a and b when it advances */
} glowmcu_walk;

/* What an operator does to one element; `p` are its parameters. */
typedef int32_t (*glowmcu_pair_function)(const void *p, int32_t a, int32_t b);

/*
 * `out` may be the same memory as an operand that has as many elements. Inlined into each operator,
 * with the call of `one`.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_broadcast_s8(glowmcu_pair_function one, const void *p,
    const glowmcu_walk *walk, const int8_t *a, const int8_t *b, int8_t *out)
{
    const int32_t run = walk->run;
    const int32_t step_a = walk->step_a;
    const int32_t step_b = walk->step_b;
    const int32_t axes = walk->axes;
    int32_t left[GLOWMCU_BROADCAST_AXES];
    int32_t i;

    for (i = 0; i < axes; ++i) {
        left[i] = walk->axis[3 * i];
    }
    do {
        for (i = 0; i < run; ++i) {
            *out = (int8_t)one(p, *a, *b);
            ++out;
            a += step_a;
            b += step_b;
        }
        for (i = 0; i < axes; ++i) {
            const int32_t *axis = walk->axis + 3 * i;
            a += axis[1];
            b += axis[2];
            --left[i];
            if (left[i] > 0) {
                break;
            }
            left[i] = axis[0];
        }
    } while (i < axes);
}

/* What an operator does to one run of the innermost axis. */
typedef void (*glowmcu_run_function)(const void *p, const glowmcu_walk *walk, const int8_t *a,
    const int8_t *b, int8_t *out);

/* The same by whole runs. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_broadcast_runs_s8(glowmcu_run_function one,
    const void *p, const glowmcu_walk *walk, const int8_t *a, const int8_t *b, int8_t *out)
{
    int32_t left[GLOWMCU_BROADCAST_AXES];
    int32_t i;

    for (i = 0; i < walk->axes; ++i) {
        left[i] = walk->axis[3 * i];
    }
    do {
        one(p, walk, a, b, out);
        out += walk->run;
        a += walk->run * walk->step_a;
        b += walk->run * walk->step_b;
        for (i = 0; i < walk->axes; ++i) {
            const int32_t *axis = walk->axis + 3 * i;
            a += axis[1];
            b += axis[2];
            --left[i];
            if (left[i] > 0) {
                break;
            }
            left[i] = axis[0];
        }
    } while (i < walk->axes);
}

#endif /* GLOWMCU_BROADCAST_H */

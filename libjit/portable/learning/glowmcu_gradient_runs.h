/*
 * glowmcu_gradient_runs.h: products of numbers of a gradient with int8, in runs.
 *
 * Behind an activation many numbers are 0, which are passed over.
 */
#ifndef GLOWMCU_GRADIENT_RUNS_H
#define GLOWMCU_GRADIENT_RUNS_H

#include "glowmcu_block_gradient.h"

/* Where the numbers are and the bytes that they meet, each with the step to the next. */
typedef struct {
    const int16_t *gradient;
    int32_t step;
    const int8_t *x;
    int32_t x_step;
    int32_t count;
} glowmcu_gradient_run;

/*
 * Adds to acc[0..3] the products of numbers with four neighbours each of `x`, to acc[4..7] those of
 * the numbers `next` elements behind them with the same four.
 */
GLOWMCU_CODE
static inline void glowmcu_gradient_run8(glowmcu_gradient_run run, int32_t next, int32_t acc[8])
{
    const int16_t *gradient = run.gradient;
    const int8_t *x = run.x;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];
    int32_t acc4 = acc[4];
    int32_t acc5 = acc[5];
    int32_t acc6 = acc[6];
    int32_t acc7 = acc[7];

    for (int32_t i = 0; i < run.count; ++i) {
        const int32_t g = gradient[0];
        const int32_t h = gradient[next];
        if ((g | h) != 0) {
            int32_t value = x[0];
            acc0 += g * value;
            acc4 += h * value;
            value = x[1];
            acc1 += g * value;
            acc5 += h * value;
            value = x[2];
            acc2 += g * value;
            acc6 += h * value;
            value = x[3];
            acc3 += g * value;
            acc7 += h * value;
        }
        gradient += run.step;
        x += run.x_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
    acc[4] = acc4;
    acc[5] = acc5;
    acc[6] = acc6;
    acc[7] = acc7;
}

/* acc + the products of numbers with one of `x` each. */
GLOWMCU_CODE
static inline int32_t glowmcu_gradient_run1(glowmcu_gradient_run run, int32_t acc)
{
    const int16_t *gradient = run.gradient;
    const int8_t *x = run.x;

    for (int32_t i = 0; i < run.count; ++i) {
        const int32_t g = *gradient;
        acc += g * *x;
        gradient += run.step;
        x += run.x_step;
    }
    return acc;
}

/* Adds to acc[0..3] the products of four neighbouring numbers with four neighbours of `x`. */
GLOWMCU_CODE
static inline void glowmcu_gradient_run_each(glowmcu_gradient_run run, int32_t offset,
    int32_t acc[4])
{
    const int16_t *gradient = run.gradient;
    const int8_t *x = run.x;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];

    for (int32_t i = 0; i < run.count; ++i) {
        acc0 += gradient[0] * (x[0] + offset);
        acc1 += gradient[1] * (x[1] + offset);
        acc2 += gradient[2] * (x[2] + offset);
        acc3 += gradient[3] * (x[3] + offset);
        gradient += run.step;
        x += run.x_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}

#endif /* GLOWMCU_GRADIENT_RUNS_H */

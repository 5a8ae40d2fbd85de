/*
 * glowmcu_recurrence_s8.h: steps of RNN and GRU on int8 with a hidden state of int16.
 */
#ifndef GLOWMCU_RECURRENCE_S8_H
#define GLOWMCU_RECURRENCE_S8_H

#include <string.h>

#include "glowmcu_requantize.h"
#include "glowmcu_sigmoid_s16.h"

/* A value times multiplier * 2^(shift - 31). */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} glowmcu_recurrence_scale;

typedef struct {
    glowmcu_recurrence_scale state; /* Q0.15 to the hidden state */
    glowmcu_recurrence_scale shown; /* the hidden state to the results */
    int32_t out_zero_point;
} glowmcu_recurrence_cell;

GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_short(int32_t x)
{
    return glowmcu_clamp(x, -32768, 32767);
}

/* A sum in front of a gate: Q3.12. */
GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_gate(int32_t sum, int32_t multiplier, int32_t shift)
{
    return glowmcu_recurrence_short(glowmcu_requantize(sum, multiplier, shift));
}

GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_logistic(const int16_t *table, int32_t gate)
{
    const glowmcu_sigmoid_scale scale = {3, 0};

    return glowmcu_logistic_s16_one(&scale, table, gate);
}

/* tanh of what is in front of a gate, as the hidden state has it. */
GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_tanh(const glowmcu_recurrence_cell *p,
    const int16_t *table, int32_t gate)
{
    const glowmcu_sigmoid_scale scale = {3, 0};

    return glowmcu_recurrence_short(glowmcu_requantize(
        glowmcu_tanh_s16_one(&scale, table, gate), p->state.multiplier, p->state.shift));
}

/* A product with Q0.15: at most 2^30 before it is rounded. */
GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_part(int32_t part, int32_t x)
{
    return (part * x + 16384) >> 15;
}

/* The new state: as much of the old one as `update` says in Q0.15, the rest of `fresh`. */
GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_mix(int32_t update, int32_t old, int32_t fresh)
{
    return (update * old + (32768 - update) * fresh + 16384) >> 15;
}

/* The hidden state as the results have it. */
GLOWMCU_CODE
static inline int8_t glowmcu_recurrence_shown(const glowmcu_recurrence_cell *p, int32_t h)
{
    return (int8_t)glowmcu_clamp(
        glowmcu_requantize(h, p->shown.multiplier, p->shown.shift) + p->out_zero_point, -128, 127);
}

#endif /* GLOWMCU_RECURRENCE_S8_H */

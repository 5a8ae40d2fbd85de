/*
 * glowmcu_lstm_cell.h: what an LSTM does with the four gates of a unit, in integers as TensorFlow
 * Lite Micro computes them.
 */
#ifndef GLOWMCU_LSTM_CELL_H
#define GLOWMCU_LSTM_CELL_H

#include "glowmcu_requantize.h"
#include "glowmcu_sigmoid_s16.h"

/* A product times multiplier * 2^(shift - 31). */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} glowmcu_lstm_scale;

typedef struct {
    glowmcu_lstm_scale forget; /* forget gate times cell state, to the cell state */
    glowmcu_lstm_scale input;  /* input gate times what is new, to the cell state */
    glowmcu_lstm_scale output; /* output gate times tanh of the cell state, to the hidden state */
    glowmcu_sigmoid_scale cell; /* the cell state in steps of the table */
    int32_t cell_min;
    int32_t cell_max;
    int32_t out_zero_point;
    int32_t out_min;
    int32_t out_max;
    const int16_t *sigmoid; /* [256] */
} glowmcu_lstm_cell;

/* Sizes; `x_step` is what lies between the inputs of two steps, and so on, in elements. */
typedef struct {
    int32_t batches;
    int32_t steps;
    int32_t depth;
    int32_t units;
    int32_t x_batch;
    int32_t x_step;
    int32_t out_batch;
    int32_t out_step;
} glowmcu_lstm_shape;

/* The sum of two int16 in front of a gate, or of a cell state, saturated. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_sum(int32_t a, int32_t b)
{
    return glowmcu_clamp(a + b, -32768, 32767);
}

/* Products of int16 stay within 2^30. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_product(const glowmcu_lstm_scale *p, int32_t a, int32_t b)
{
    return glowmcu_requantize(a * b, p->multiplier, p->shift);
}

/*
 * The hidden state of a unit after a step. `gates` are the sums in front of the input, forget,
 * cell and output gate, Q3.12; the cell state is read from `before` and written to `after`, which
 * may be the same.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_unit(const glowmcu_lstm_cell *p, const int32_t gates[4],
    const int16_t *before, int16_t *after)
{
    const glowmcu_sigmoid_scale scale = {3, 0};
    const int32_t input = glowmcu_logistic_s16_one(&scale, p->sigmoid, gates[0]);
    const int32_t forget = glowmcu_logistic_s16_one(&scale, p->sigmoid, gates[1]);
    const int32_t fresh = glowmcu_tanh_s16_one(&scale, p->sigmoid, gates[2]);
    const int32_t output = glowmcu_logistic_s16_one(&scale, p->sigmoid, gates[3]);
    const int32_t kept = glowmcu_lstm_sum(glowmcu_lstm_product(&p->forget, forget, *before), 0);
    const int32_t added = glowmcu_lstm_sum(glowmcu_lstm_product(&p->input, input, fresh), 0);
    const int32_t cell = glowmcu_clamp(glowmcu_lstm_sum(kept, added), p->cell_min, p->cell_max);
    const int32_t shown = glowmcu_tanh_s16_one(&p->cell, p->sigmoid, cell);

    *after = (int16_t)cell;
    return glowmcu_clamp(glowmcu_lstm_product(&p->output, shown, output) + p->out_zero_point,
        p->out_min, p->out_max);
}

#endif /* GLOWMCU_LSTM_CELL_H */

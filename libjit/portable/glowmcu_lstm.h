/*
 * glowmcu_lstm.h: LSTM on int8 with int8 weights and a cell state of int16.
 */
#ifndef GLOWMCU_LSTM_H
#define GLOWMCU_LSTM_H

#include <string.h>

#include "glowmcu_lstm_cell.h"

/* Gates are input, forget, cell, output. */
typedef struct {
    glowmcu_lstm_shape shape;
    glowmcu_lstm_cell cell;
    const int32_t *scales;   /* [2][4][2]: of x and of the hidden state, multiplier and shift */
    const int32_t *biases;   /* [2][4][units]: the same, zero points folded in */
    const int8_t *weights;   /* [4][units][depth] */
    const int8_t *recurrent; /* [4][units][units] */
} glowmcu_lstm;

/* Products of one gate: int16 in front of it. `weights` are the unit's. */
GLOWMCU_CODE
static int32_t glowmcu_lstm_gate(const int8_t *x, const int8_t *weights, int32_t count,
    int32_t bias, const int32_t *scale)
{
    int32_t sum = bias;

    for (int32_t i = 0; i < count; ++i) {
        sum += x[i] * weights[i];
    }
    return glowmcu_clamp(glowmcu_requantize(sum, scale[0], scale[1]), -32768, 32767);
}

/* A step of one batch item: all that is read of `hidden` and `before` is as the last step left. */
GLOWMCU_CODE
static void glowmcu_lstm_step(const glowmcu_lstm *p, const int8_t *x, const int8_t *hidden,
    const int16_t *before, int16_t *after, int8_t *out)
{
    const int32_t depth = p->shape.depth;
    const int32_t units = p->shape.units;

    for (int32_t unit = 0; unit < units; ++unit) {
        int32_t gates[4];

        for (int32_t gate = 0; gate < 4; ++gate) {
            const int32_t row = gate * units + unit;
            const int32_t input = glowmcu_lstm_gate(x, p->weights + row * depth, depth,
                p->biases[row], p->scales + 2 * gate);
            const int32_t past = glowmcu_lstm_gate(hidden, p->recurrent + row * units, units,
                p->biases[4 * units + row], p->scales + 8 + 2 * gate);
            gates[gate] = glowmcu_lstm_sum(input, past);
        }
        out[unit] = (int8_t)glowmcu_lstm_unit(&p->cell, gates, before + unit, after + unit);
    }
}

/*
 * x is [batches][steps][depth], out [batches][steps][units], or with steps first; states are
 * [batches][units], and the new ones may be where the old ones are. The results of a step are the
 * hidden state that the next one reads.
 */
GLOWMCU_CODE
static void glowmcu_lstm_s8(const glowmcu_lstm *p, const int8_t *x, const int8_t *hidden,
    const int16_t *cell, int8_t *out, int8_t *hidden_after, int16_t *cell_after)
{
    const glowmcu_lstm_shape *shape = &p->shape;

    for (int32_t batch = 0; batch < shape->batches; ++batch) {
        const int8_t *now = x + batch * shape->x_batch;
        const int8_t *last = hidden + batch * shape->units;
        const int16_t *before = cell + batch * shape->units;
        int16_t *after = cell_after + batch * shape->units;
        int8_t *result = out + batch * shape->out_batch;

        for (int32_t step = 0; step < shape->steps; ++step) {
            glowmcu_lstm_step(p, now, last, before, after, result);
            before = after;
            last = result;
            now += shape->x_step;
            result += shape->out_step;
        }
        (void)memcpy(hidden_after + batch * shape->units, last, (size_t)shape->units);
    }
}

#endif /* GLOWMCU_LSTM_H */

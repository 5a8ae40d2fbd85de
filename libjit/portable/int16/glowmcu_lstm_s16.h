/*
 * glowmcu_lstm_s16.h: LSTM on int16 with int8 weights, biases of int64 and a cell state of int16.
 */
#ifndef GLOWMCU_LSTM_S16_H
#define GLOWMCU_LSTM_S16_H

#include <string.h>

#include "glowmcu_lstm_cell.h"
#include "glowmcu_wide.h"

/* Gates are input, forget, cell, output. */
typedef struct {
    glowmcu_lstm_shape shape;
    glowmcu_lstm_cell cell;
    const int32_t *scales;   /* [2][4][2]: of x and of the hidden state, Q15 multiplier and shift */
    const int64_t *biases;   /* [4][units] */
    const int8_t *weights;   /* [4][units][depth] */
    const int8_t *recurrent; /* [4][units][units] */
} glowmcu_lstm_wide;

/* An accumulator to int16 in front of a gate. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_wide_gate(int64_t sum, const int32_t *scale)
{
    return glowmcu_clamp(glowmcu_requantize_wide(sum, scale[0], scale[1]), -32768, 32767);
}

/* A step of one batch item: all that is read of `hidden` and `before` is as the last step left. */
GLOWMCU_CODE
static void glowmcu_lstm_wide_step(const glowmcu_lstm_wide *p, const int16_t *x,
    const int16_t *hidden, const int16_t *before, int16_t *after, int16_t *out)
{
    const int32_t depth = p->shape.depth;
    const int32_t units = p->shape.units;

    for (int32_t unit = 0; unit < units; ++unit) {
        int32_t gates[4];

        for (int32_t gate = 0; gate < 4; ++gate) {
            const int32_t row = gate * units + unit;
            const int64_t input =
                glowmcu_wide_dot(x, p->weights + row * depth, depth, p->biases[row]);
            const int64_t past = glowmcu_wide_dot(hidden, p->recurrent + row * units, units, 0);
            gates[gate] = glowmcu_lstm_sum(glowmcu_lstm_wide_gate(input, p->scales + 2 * gate),
                glowmcu_lstm_wide_gate(past, p->scales + 8 + 2 * gate));
        }
        out[unit] = (int16_t)glowmcu_lstm_unit(&p->cell, gates, before + unit, after + unit);
    }
}

/*
 * x is [batches][steps][depth], out [batches][steps][units], or with steps first; states are
 * [batches][units], and the new ones may be where the old ones are. The results of a step are the
 * hidden state that the next one reads.
 */
GLOWMCU_CODE
static void glowmcu_lstm_s16(const glowmcu_lstm_wide *p, const int16_t *x, const int16_t *hidden,
    const int16_t *cell, int16_t *out, int16_t *hidden_after, int16_t *cell_after)
{
    const glowmcu_lstm_shape *shape = &p->shape;

    for (int32_t batch = 0; batch < shape->batches; ++batch) {
        const int16_t *now = x + batch * shape->x_batch;
        const int16_t *last = hidden + batch * shape->units;
        const int16_t *before = cell + batch * shape->units;
        int16_t *after = cell_after + batch * shape->units;
        int16_t *result = out + batch * shape->out_batch;

        for (int32_t step = 0; step < shape->steps; ++step) {
            glowmcu_lstm_wide_step(p, now, last, before, after, result);
            before = after;
            last = result;
            now += shape->x_step;
            result += shape->out_step;
        }
        (void)memcpy(hidden_after + batch * shape->units, last,
            (size_t)shape->units * sizeof(int16_t));
    }
}

#endif /* GLOWMCU_LSTM_S16_H */

/*
 * glowmcu_lstm_f32.h: LSTM on real numbers.
 */
#ifndef GLOWMCU_LSTM_F32_H
#define GLOWMCU_LSTM_F32_H

#include <string.h>

#include "glowmcu_logisticf.h"
#include "glowmcu_tanhf.h"

/* Gates are input, forget, cell, output; `x_step` is what lies between two steps, in elements. */
typedef struct {
    int32_t batches;
    int32_t steps;
    int32_t depth;
    int32_t units;
    int32_t x_batch;
    int32_t x_step;
    int32_t out_batch;
    int32_t out_step;
    float cell_clip; /* bounds the cell state where it is positive */
    const float *biases;    /* [4][units] */
    const float *weights;   /* [4][units][depth] */
    const float *recurrent; /* [4][units][units] */
} glowmcu_lstm_real;

GLOWMCU_CODE
static float glowmcu_lstm_real_dot(const float *x, const float *weights, int32_t count, float sum)
{
    for (int32_t i = 0; i < count; ++i) {
        sum += x[i] * weights[i];
    }
    return sum;
}

/* A step of one batch item: all that is read of `hidden` and `before` is as the last step left. */
GLOWMCU_CODE
static void glowmcu_lstm_real_step(const glowmcu_lstm_real *p, const float *x,
    const float *hidden, const float *before, float *after, float *out)
{
    const int32_t depth = p->depth;
    const int32_t units = p->units;

    for (int32_t unit = 0; unit < units; ++unit) {
        float gates[4];
        float cell;

        for (int32_t gate = 0; gate < 4; ++gate) {
            const int32_t row = gate * units + unit;
            const float input =
                glowmcu_lstm_real_dot(x, p->weights + row * depth, depth, p->biases[row]);
            gates[gate] =
                glowmcu_lstm_real_dot(hidden, p->recurrent + row * units, units, input);
        }
        cell = glowmcu_logisticf(gates[1]) * before[unit]
            + glowmcu_logisticf(gates[0]) * glowmcu_tanhf(gates[2]);
        if (p->cell_clip > 0.0f) {
            cell = (cell > p->cell_clip) ? p->cell_clip : cell;
            cell = (cell < -p->cell_clip) ? -p->cell_clip : cell;
        }
        after[unit] = cell;
        out[unit] = glowmcu_logisticf(gates[3]) * glowmcu_tanhf(cell);
    }
}

/*
 * x is [batches][steps][depth], out [batches][steps][units], or with steps first; states are
 * [batches][units], and the new ones may be where the old ones are. The results of a step are the
 * hidden state that the next one reads.
 */
GLOWMCU_CODE
static void glowmcu_lstm_f32(const glowmcu_lstm_real *p, const float *x, const float *hidden,
    const float *cell, float *out, float *hidden_after, float *cell_after)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const float *now = x + batch * p->x_batch;
        const float *last = hidden + batch * p->units;
        const float *before = cell + batch * p->units;
        float *after = cell_after + batch * p->units;
        float *result = out + batch * p->out_batch;

        for (int32_t step = 0; step < p->steps; ++step) {
            glowmcu_lstm_real_step(p, now, last, before, after, result);
            before = after;
            last = result;
            now += p->x_step;
            result += p->out_step;
        }
        (void)memcpy(hidden_after + batch * p->units, last, (size_t)p->units * sizeof(float));
    }
}

#endif /* GLOWMCU_LSTM_F32_H */

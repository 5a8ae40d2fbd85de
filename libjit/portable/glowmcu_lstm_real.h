/*
 * glowmcu_lstm_real.h: what LSTMs on real numbers have in common: steps and cells.
 */
#ifndef GLOWMCU_LSTM_REAL_H
#define GLOWMCU_LSTM_REAL_H

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
    const float *biases;    /* [4][units]; none where weights are packed */
    const float *weights;   /* [4][units][depth], or packed */
    const float *recurrent; /* [4][units][units], or packed */
} glowmcu_lstm_real;

/*
 * A step of one batch item: all that is read of `hidden` and `before` is as the last step left;
 * `sums` is the scratch.
 */
typedef void (*glowmcu_lstm_real_step)(const glowmcu_lstm_real *p, const float *x,
    const float *hidden, const float *before, float *after, float *out, float *sums);

/* A unit's new cell state and its result, of what its gates see. */
GLOWMCU_CODE
static inline void glowmcu_lstm_real_unit(const glowmcu_lstm_real *p, const float gates[4],
    float before, float *after, float *out)
{
    float cell = glowmcu_logisticf(gates[1]) * before
        + glowmcu_logisticf(gates[0]) * glowmcu_tanhf(gates[2]);

    if (p->cell_clip > 0.0f) {
        cell = (cell > p->cell_clip) ? p->cell_clip : cell;
        cell = (cell < -p->cell_clip) ? -p->cell_clip : cell;
    }
    *after = cell;
    *out = glowmcu_logisticf(gates[3]) * glowmcu_tanhf(cell);
}

/*
 * x is [batches][steps][depth], out [batches][steps][units], or with steps first; states are
 * [batches][units], and the new ones may be where the old ones are. The results of a step are the
 * hidden state that the next one reads.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_lstm_real_sequences(const glowmcu_lstm_real *p,
    glowmcu_lstm_real_step step, const float *x, const float *hidden, const float *cell,
    float *out, float *hidden_after, float *cell_after, float *sums)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const float *now = x + batch * p->x_batch;
        const float *last = hidden + batch * p->units;
        const float *before = cell + batch * p->units;
        float *after = cell_after + batch * p->units;
        float *result = out + batch * p->out_batch;

        for (int32_t left = p->steps; left > 0; --left) {
            step(p, now, last, before, after, result, sums);
            before = after;
            last = result;
            now += p->x_step;
            result += p->out_step;
        }
        (void)memcpy(hidden_after + batch * p->units, last, (size_t)p->units * sizeof(float));
    }
}

#endif /* GLOWMCU_LSTM_REAL_H */

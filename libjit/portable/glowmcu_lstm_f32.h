/*
 * glowmcu_lstm_f32.h: LSTM on real numbers, a gate at a time.
 */
#ifndef GLOWMCU_LSTM_F32_H
#define GLOWMCU_LSTM_F32_H

#include "glowmcu_lstm_real.h"

GLOWMCU_CODE
static float glowmcu_lstm_real_dot(const float *x, const float *weights, int32_t count, float sum)
{
    for (int32_t i = 0; i < count; ++i) {
        sum += x[i] * weights[i];
    }
    return sum;
}

/* A unit after the other, without scratch. */
GLOWMCU_CODE
static inline void glowmcu_lstm_real_units(const glowmcu_lstm_real *p, const float *x,
    const float *hidden, const float *before, float *after, float *out, float *sums)
{
    const int32_t depth = p->depth;
    const int32_t units = p->units;

    (void)sums;
    for (int32_t unit = 0; unit < units; ++unit) {
        float gates[4];

        for (int32_t gate = 0; gate < 4; ++gate) {
            const int32_t row = gate * units + unit;
            const float input =
                glowmcu_lstm_real_dot(x, p->weights + row * depth, depth, p->biases[row]);
            gates[gate] =
                glowmcu_lstm_real_dot(hidden, p->recurrent + row * units, units, input);
        }
        glowmcu_lstm_real_unit(p, gates, before[unit], after + unit, out + unit);
    }
}

/* As glowmcu_lstm_real_sequences. */
GLOWMCU_CODE
static void glowmcu_lstm_f32(const glowmcu_lstm_real *p, const float *x, const float *hidden,
    const float *cell, float *out, float *hidden_after, float *cell_after)
{
    glowmcu_lstm_real_sequences(p, glowmcu_lstm_real_units, x, hidden, cell, out, hidden_after,
        cell_after, NULL);
}

#endif /* GLOWMCU_LSTM_F32_H */

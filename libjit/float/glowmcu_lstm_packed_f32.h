/*
 * glowmcu_lstm_packed_f32.h: LSTM on real numbers, a gate of all units at once.
 */
#ifndef GLOWMCU_LSTM_PACKED_F32_H
#define GLOWMCU_LSTM_PACKED_F32_H

#include "glowmcu_lstm_real.h"
#include "glowmcu_recurrence_packed_f32.h"

/* As glowmcu_lstm_real_step. Biases are packed, too. */
GLOWMCU_CODE
static inline void glowmcu_lstm_packed_step(const glowmcu_lstm_real *p, const float *x,
    const float *hidden, const float *before, float *after, float *out, float *sums)
{
    const int32_t units = p->units;
    const int32_t rest = units % 8;
    const int32_t padded = units - rest + ((rest > 4) ? 8 : ((rest > 0) ? 4 : 0));
    const glowmcu_recurrence_packed packed = {
        {1, p->depth, 4 * units, GLOWMCU_KEEP, 0.0f, 0.0f, p->weights},
        {1, units, units, GLOWMCU_KEEP, 0.0f, 0.0f, p->recurrent},
        (units + 1) * padded
    };

    glowmcu_recurrence_sums(&packed, 4, x, hidden, out, sums);
    for (int32_t unit = 0; unit < units; ++unit) {
        float gates[4];

        for (int32_t gate = 0; gate < 4; ++gate) {
            gates[gate] = sums[gate * units + unit];
        }
        glowmcu_lstm_real_unit(p, gates, before[unit], after + unit, out + unit);
    }
}

/* As glowmcu_lstm_real_sequences. scratch: [4][units] floats, 4-byte aligned. */
GLOWMCU_CODE
static void glowmcu_lstm_packed_f32(const glowmcu_lstm_real *p, const float *x,
    const float *hidden, const float *cell, float *out, float *hidden_after, float *cell_after,
    int8_t *scratch)
{
    glowmcu_lstm_real_sequences(p, glowmcu_lstm_packed_step, x, hidden, cell, out, hidden_after,
        cell_after, (float *)(void *)scratch);
}

#endif /* GLOWMCU_LSTM_PACKED_F32_H */

/*
 * glowmcu_recurrence_packed_f32.h: what the gates of a recurrent layer see of real numbers, a gate
 * of all units at once.
 */
#ifndef GLOWMCU_RECURRENCE_PACKED_F32_H
#define GLOWMCU_RECURRENCE_PACKED_F32_H

#include "glowmcu_matrix_f32.h"

/* One direction. A gate's weights of the hidden state lie `gate_floats` behind the one's before. */
typedef struct {
    glowmcu_matrix_real input;  /* all gates */
    glowmcu_matrix_real hidden; /* the first gate */
    int32_t gate_floats;
} glowmcu_recurrence_packed;

typedef struct {
    glowmcu_recurrence_packed forward;
    glowmcu_recurrence_packed backward;
} glowmcu_recurrence_packed_both;

/* What a gate sees of the hidden state. */
GLOWMCU_CODE
static void glowmcu_recurrence_of_hidden(const glowmcu_recurrence_packed *p, int32_t gate,
    const float *h, float *out)
{
    glowmcu_matrix_real matrix = p->hidden;

    matrix.weights = (const float *)p->hidden.weights + gate * p->gate_floats;
    glowmcu_matrix_f32(&matrix, h, out, 0, 1);
}

/* Of the first `gates` too, added to what they see of the input; `own` has room for one gate. */
GLOWMCU_CODE
static void glowmcu_recurrence_sums(const glowmcu_recurrence_packed *p, int32_t gates,
    const float *x, const float *h, float *own, float *sums)
{
    const int32_t units = p->hidden.depth_out;

    glowmcu_matrix_f32(&p->input, x, sums, 0, 1);
    for (int32_t gate = 0; gate < gates; ++gate) {
        glowmcu_recurrence_of_hidden(p, gate, h, own);
        for (int32_t i = 0; i < units; ++i) {
            sums[i] += own[i];
        }
        sums += units;
    }
}

#endif /* GLOWMCU_RECURRENCE_PACKED_F32_H */

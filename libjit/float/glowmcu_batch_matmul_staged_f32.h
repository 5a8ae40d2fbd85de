/*
 * glowmcu_batch_matmul_staged_f32.h: float products of two matrices that are computed: the second
 * one is put in the order of the loops first.
 */
#ifndef GLOWMCU_BATCH_MATMUL_STAGED_F32_H
#define GLOWMCU_BATCH_MATMUL_STAGED_F32_H

#include "glowmcu_matrices.h"
#include "glowmcu_matrix_f32.h"

/* Columns of y in blocks of eight or four as glowmcu_windows.h says, biases of 0 behind each. */
GLOWMCU_CODE
static void glowmcu_batch_matmul_stage(const glowmcu_matrices *p, const float *y, float *packed)
{
    for (int32_t first = 0; first < p->columns; first += 8) {
        const int32_t left = p->columns - first;
        const int32_t width = (left > 4) ? 8 : 4;
        const int32_t count = (left < width) ? left : width;
        const float *row = y + first * p->y_column;

        for (int32_t k = 0; k < p->depth; ++k) {
            const float *from = row;
            for (int32_t c = 0; c < count; ++c) {
                packed[c] = *from;
                from += p->y_column;
            }
            for (int32_t c = count; c < width; ++c) {
                packed[c] = 0.0f;
            }
            packed += width;
            row += p->y_step;
        }
        for (int32_t c = 0; c < width; ++c) {
            packed[c] = 0.0f;
        }
        packed += width;
    }
}

/*
 * `out` is [batch_0][batch_1][batch_2][rows][columns]; it may overlap neither operand. Rows of x
 * lie one behind the other. scratch: blocks of one matrix y, 4-byte aligned.
 */
GLOWMCU_CODE
static void glowmcu_batch_matmul_staged_f32(const glowmcu_matrices *p, const float *x,
    const float *y, float *out, int8_t *scratch)
{
    float *const packed = (float *)(void *)scratch;
    const glowmcu_matrix_real matrix = {
        p->rows, p->depth, p->columns, GLOWMCU_KEEP, 0.0f, 0.0f, packed
    };

    for (int32_t b0 = 0; b0 < p->batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->batch_2; ++b2) {
                glowmcu_batch_matmul_stage(p, y + glowmcu_matrix_of_y(p, b0, b1, b2), packed);
                glowmcu_matrix_f32(&matrix, x + glowmcu_matrix_of_x(p, b0, b1, b2), out, 0, 1);
                out += p->rows * p->columns;
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_STAGED_F32_H */

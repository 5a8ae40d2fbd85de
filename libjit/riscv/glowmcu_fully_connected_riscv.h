/*
 * glowmcu_fully_connected_riscv.h: int8 fully connected layers for RISC-V, eight outputs at a time.
 *
 * Of a single row nothing pairs but outputs, and to part their weights costs what a product does.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_RISCV_H
#define GLOWMCU_FULLY_CONNECTED_RISCV_H

#include "glowmcu_loads_riscv.h"
#include "glowmcu_scale_riscv.h"

/* Outputs whose sums are on the stack at a time. */
#define GLOWMCU_FULLY_CONNECTED_BLOCK 16

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    const int8_t *weights; /* [output eights][depth_in][8 outputs] */
    glowmcu_scale_riscv scale;
    int32_t scale_words; /* a channel */
} glowmcu_fully_connected_riscv;

/* Sums of eight outputs; returns where the next ones' weights are. */
GLOWMCU_CODE
static const int8_t *glowmcu_eight_sums_riscv(const int8_t *x, const int8_t *w, int32_t depth,
    int32_t sums[8])
{
    const int8_t *const end = x + depth;
    const int8_t *const last_four = x + (depth & ~(int32_t)3);
    int32_t sum0 = 0;
    int32_t sum1 = 0;
    int32_t sum2 = 0;
    int32_t sum3 = 0;
    int32_t sum4 = 0;
    int32_t sum5 = 0;
    int32_t sum6 = 0;
    int32_t sum7 = 0;

    while (x != last_four) {
        int32_t element = x[0];

        sum0 += element * w[0];
        sum1 += element * w[1];
        sum2 += element * w[2];
        sum3 += element * w[3];
        sum4 += element * w[4];
        sum5 += element * w[5];
        sum6 += element * w[6];
        sum7 += element * w[7];
        GLOWMCU_LOADS_STAY();
        element = x[1];
        sum0 += element * w[8];
        sum1 += element * w[9];
        sum2 += element * w[10];
        sum3 += element * w[11];
        sum4 += element * w[12];
        sum5 += element * w[13];
        sum6 += element * w[14];
        sum7 += element * w[15];
        GLOWMCU_LOADS_STAY();
        element = x[2];
        sum0 += element * w[16];
        sum1 += element * w[17];
        sum2 += element * w[18];
        sum3 += element * w[19];
        sum4 += element * w[20];
        sum5 += element * w[21];
        sum6 += element * w[22];
        sum7 += element * w[23];
        GLOWMCU_LOADS_STAY();
        element = x[3];
        sum0 += element * w[24];
        sum1 += element * w[25];
        sum2 += element * w[26];
        sum3 += element * w[27];
        sum4 += element * w[28];
        sum5 += element * w[29];
        sum6 += element * w[30];
        sum7 += element * w[31];
        x += 4;
        w += 32;
    }
    while (x != end) {
        const int32_t element = *x;

        sum0 += element * w[0];
        sum1 += element * w[1];
        sum2 += element * w[2];
        sum3 += element * w[3];
        sum4 += element * w[4];
        sum5 += element * w[5];
        sum6 += element * w[6];
        sum7 += element * w[7];
        ++x;
        w += 8;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    sums[4] = sum4;
    sums[5] = sum5;
    sums[6] = sum6;
    sums[7] = sum7;
    return w;
}

/* `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap. */
GLOWMCU_CODE
static void glowmcu_fully_connected_riscv_s8(const glowmcu_fully_connected_riscv *p,
    const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const int8_t *w = p->weights;
        glowmcu_scale_riscv scale = p->scale;

        for (int32_t left = p->depth_out; left > 0; left -= GLOWMCU_FULLY_CONNECTED_BLOCK) {
            const int32_t count =
                (left < GLOWMCU_FULLY_CONNECTED_BLOCK) ? left : GLOWMCU_FULLY_CONNECTED_BLOCK;
            int32_t sums[GLOWMCU_FULLY_CONNECTED_BLOCK] = {0}; /* so that compilers see them set */

            for (int32_t i = 0; i < count; i += 8) {
                w = glowmcu_eight_sums_riscv(in, w, p->depth_in, sums + i);
            }
            glowmcu_scale_sums_riscv(&scale, sums, out, count);
            scale.constants += count * p->scale_words;
            out += count;
        }
        in += p->depth_in;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_RISCV_H */

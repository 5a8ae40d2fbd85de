/*
 * glowmcu_pair_sums_riscv.h: inner products of two pixels with one multiplication, for RISC-V.
 *
 * A word X = x1 + (x2 << 16) holds an element of two pixels; X * w is both products at once, as
 * long as the low half's sum stays within 16 bits. The compiler splits weights so that it does for
 * groups of four taps; then halves are added to 32-bit sums: 8 in 16 registers, for four outputs,
 * so that a word of the stream is loaded once for four products.
 */
#ifndef GLOWMCU_PAIR_SUMS_RISCV_H
#define GLOWMCU_PAIR_SUMS_RISCV_H

#include "glowmcu_base.h"
#include "glowmcu_loads_riscv.h"

typedef struct {
    const uint32_t *stream; /* [groups][4 taps] */
    const int8_t *weights;  /* [output_fours][groups][4 outputs][4 taps] */
    int32_t groups;         /* at least 1 */
    int32_t output_fours;   /* at least 1 */
    int32_t *sums;          /* [2 pixels][output_fours][4 outputs] */
} glowmcu_pair_job_riscv;

/* Four taps of one output: 2^15 more than the sum, so that what is above 16 bits is x2's. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pair_group_riscv(const int8_t w[4], uint32_t x0,
    uint32_t x1, uint32_t x2, uint32_t x3)
{
    const int32_t w0 = w[0];
    const int32_t w1 = w[1];
    const int32_t w2 = w[2];
    const int32_t w3 = w[3];

    return 0x8000u + x0 * (uint32_t)w0 + x1 * (uint32_t)w1 + x2 * (uint32_t)w2
        + x3 * (uint32_t)w3;
}

/* 4 outputs. Sums are modulo 2^32 until the halves part. */
GLOWMCU_CODE
static void glowmcu_pair_four_riscv(const glowmcu_pair_job_riscv *job, const int8_t *w,
    int32_t first[4], int32_t second[4])
{
    const uint32_t *x = job->stream;
    const uint32_t *const end = x + 4 * job->groups;
    const uint32_t start = 0u - ((uint32_t)job->groups << 15);
    uint32_t all0 = start;
    uint32_t all1 = start;
    uint32_t all2 = start;
    uint32_t all3 = start;
    int32_t high0 = 0;
    int32_t high1 = 0;
    int32_t high2 = 0;
    int32_t high3 = 0;

    do {
        const uint32_t x0 = x[0];
        const uint32_t x1 = x[1];
        const uint32_t x2 = x[2];
        const uint32_t x3 = x[3];
        uint32_t sum;

        sum = glowmcu_pair_group_riscv(w, x0, x1, x2, x3);
        all0 += sum;
        high0 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 4, x0, x1, x2, x3);
        all1 += sum;
        high1 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 8, x0, x1, x2, x3);
        all2 += sum;
        high2 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 12, x0, x1, x2, x3);
        all3 += sum;
        high3 += (int32_t)sum >> 16;
        x += 4;
        w += 16;
    } while (x != end);
    first[0] = (int32_t)(all0 - ((uint32_t)high0 << 16));
    first[1] = (int32_t)(all1 - ((uint32_t)high1 << 16));
    first[2] = (int32_t)(all2 - ((uint32_t)high2 << 16));
    first[3] = (int32_t)(all3 - ((uint32_t)high3 << 16));
    second[0] = high0;
    second[1] = high1;
    second[2] = high2;
    second[3] = high3;
}

/* 8 outputs. Sums are modulo 2^32 until the halves part. */
GLOWMCU_CODE
static void glowmcu_pair_eight_riscv(const glowmcu_pair_job_riscv *job, const int8_t *w,
    int32_t first[8], int32_t second[8])
{
    const uint32_t *x = job->stream;
    const uint32_t *const end = x + 4 * job->groups;
    const uint32_t start = 0u - ((uint32_t)job->groups << 15);
    uint32_t all0 = start;
    uint32_t all1 = start;
    uint32_t all2 = start;
    uint32_t all3 = start;
    uint32_t all4 = start;
    uint32_t all5 = start;
    uint32_t all6 = start;
    uint32_t all7 = start;
    int32_t high0 = 0;
    int32_t high1 = 0;
    int32_t high2 = 0;
    int32_t high3 = 0;
    int32_t high4 = 0;
    int32_t high5 = 0;
    int32_t high6 = 0;
    int32_t high7 = 0;

    do {
        const uint32_t x0 = x[0];
        const uint32_t x1 = x[1];
        const uint32_t x2 = x[2];
        const uint32_t x3 = x[3];
        uint32_t sum;

        sum = glowmcu_pair_group_riscv(w, x0, x1, x2, x3);
        all0 += sum;
        high0 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 4, x0, x1, x2, x3);
        all1 += sum;
        high1 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 8, x0, x1, x2, x3);
        all2 += sum;
        high2 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 12, x0, x1, x2, x3);
        all3 += sum;
        high3 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 16, x0, x1, x2, x3);
        all4 += sum;
        high4 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 20, x0, x1, x2, x3);
        all5 += sum;
        high5 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 24, x0, x1, x2, x3);
        all6 += sum;
        high6 += (int32_t)sum >> 16;
        GLOWMCU_LOADS_STAY();
        sum = glowmcu_pair_group_riscv(w + 28, x0, x1, x2, x3);
        all7 += sum;
        high7 += (int32_t)sum >> 16;
        x += 4;
        w += 32;
    } while (x != end);
    first[0] = (int32_t)(all0 - ((uint32_t)high0 << 16));
    first[1] = (int32_t)(all1 - ((uint32_t)high1 << 16));
    first[2] = (int32_t)(all2 - ((uint32_t)high2 << 16));
    first[3] = (int32_t)(all3 - ((uint32_t)high3 << 16));
    first[4] = (int32_t)(all4 - ((uint32_t)high4 << 16));
    first[5] = (int32_t)(all5 - ((uint32_t)high5 << 16));
    first[6] = (int32_t)(all6 - ((uint32_t)high6 << 16));
    first[7] = (int32_t)(all7 - ((uint32_t)high7 << 16));
    second[0] = high0;
    second[1] = high1;
    second[2] = high2;
    second[3] = high3;
    second[4] = high4;
    second[5] = high5;
    second[6] = high6;
    second[7] = high7;
}

/* All outputs of two pixels. */
GLOWMCU_CODE
static void glowmcu_pair_sums_riscv(const glowmcu_pair_job_riscv *job)
{
    const int32_t outputs = 4 * job->output_fours;
    const int8_t *w = job->weights;
    int32_t output = 0;

    while (outputs - output >= 8) {
        glowmcu_pair_eight_riscv(job, w, job->sums + output, job->sums + outputs + output);
        w += 32 * job->groups;
        output += 8;
    }
    if (output != outputs) {
        glowmcu_pair_four_riscv(job, w, job->sums + output, job->sums + outputs + output);
    }
}

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pair_riscv(int8_t first, int8_t second)
{
    return (uint32_t)first + ((uint32_t)second << 16);
}

/* `count` neighbouring bytes of two pixels to the stream; returns where it goes on. */
GLOWMCU_CODE
static uint32_t *glowmcu_pair_write_riscv(uint32_t *at, const int8_t *first, const int8_t *second,
    int32_t count)
{
    uint32_t *const end = at + count;

    while (end - at >= 4) {
        at[0] = glowmcu_pair_riscv(first[0], second[0]);
        at[1] = glowmcu_pair_riscv(first[1], second[1]);
        at[2] = glowmcu_pair_riscv(first[2], second[2]);
        at[3] = glowmcu_pair_riscv(first[3], second[3]);
        at += 4;
        first += 4;
        second += 4;
    }
    while (at != end) {
        *at = glowmcu_pair_riscv(*first, *second);
        ++at;
        ++first;
        ++second;
    }
    return at;
}

/*
 * Parts of weights that would not fit their group: word of the stream in bits 20 to 31, output in
 * bits 8 to 19, a signed weight in bits 0 to 7.
 */
GLOWMCU_CODE
static void glowmcu_pair_extras_riscv(const glowmcu_pair_job_riscv *job, const int32_t *extras,
    int32_t count)
{
    int32_t *const second = job->sums + 4 * job->output_fours;

    for (int32_t i = 0; i < count; ++i) {
        const uint32_t extra = (uint32_t)extras[i];
        const uint32_t x = job->stream[extra >> 20];
        const uint32_t output = (extra >> 8) & 0xFFFu;
        const int32_t w = (int8_t)(extra & 0xFFu);
        const int32_t low = (int16_t)(x & 0xFFFFu);

        job->sums[output] += low * w;
        second[output] += ((int32_t)(x - (uint32_t)low) >> 16) * w;
    }
}

#endif /* GLOWMCU_PAIR_SUMS_RISCV_H */

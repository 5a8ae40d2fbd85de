/*
 * glowmcu_output_pairs_nodsp.h: inner products of two outputs with one multiplication, no DSP
 * needed.
 *
 * A word of weights holds four outputs' bytes, w + 128 each; masked it is U = u0 + (u2 << 16) or
 * u1 + (u3 << 16), and x * U is two products, as long as the low half's sum stays within 16 bits.
 * The compiler splits weights so that it does for groups of four taps; then halves are added to 32
 * bits.
 *
 * A stream has five words a group: 2^15 - 128 * 65537 * (x0 + x1 + x2 + x3), x0, x1, x2, x3.
 */
#ifndef GLOWMCU_OUTPUT_PAIRS_NODSP_H
#define GLOWMCU_OUTPUT_PAIRS_NODSP_H

#include "glowmcu_base.h"
#include "glowmcu_thumb.h"

typedef struct glowmcu_output_job {
    const uint32_t *stream;
    const int32_t *weights; /* [output_fours][groups][4 taps] of four bytes */
    int32_t groups;         /* at least 1 */
    int32_t output_fours;   /* at least 1 */
    int32_t *sums;          /* [output_fours][4] */
} glowmcu_output_job;

#if GLOWMCU_THUMB == 2
#include "glowmcu_output_pairs_armv7m.h"
#elif GLOWMCU_THUMB == 1
#include "glowmcu_output_pairs_armv6m.h"
#else
/* One word of stream after the other; sums are modulo 2^32 until the halves part. */
GLOWMCU_CODE
static void glowmcu_output_pairs(const glowmcu_output_job *job)
{
    const int32_t *four = job->weights;
    int32_t *sums = job->sums;

    for (int32_t i = 0; i < job->output_fours; ++i, sums += 4, four += 4 * job->groups) {
        for (int32_t side = 0; side < 2; ++side) {
            const uint32_t *x = job->stream;
            const int32_t *w = four;
            uint32_t all = 0u - ((uint32_t)job->groups << 15);
            int32_t second = 0;
            for (int32_t group = 0; group < job->groups; ++group, x += 5, w += 4) {
                uint32_t sum = x[0];
                for (int32_t tap = 0; tap < 4; ++tap) {
                    sum += x[1 + tap] * (((uint32_t)w[tap] >> (8 * side)) & 0x00FF00FFu);
                }
                all += sum;
                second += (int32_t)sum >> 16;
            }
            sums[side] = (int32_t)(all - ((uint32_t)second << 16));
            sums[side + 2] = second;
        }
    }
}
#endif

/* `count` elements as a stream. */
GLOWMCU_CODE
static void glowmcu_output_stream(const int8_t *x, int32_t count, uint32_t *stream)
{
    while (count > 0) {
        int32_t sum = 0;
        for (int32_t tap = 1; tap <= 4; ++tap, --count) {
            const int32_t value = (count > 0) ? *x++ : 0;
            stream[tap] = (uint32_t)value;
            sum += value;
        }
        stream[0] = 0x8000u - (uint32_t)sum * (128u * 65537u);
        stream += 5;
    }
}

/*
 * Parts of weights that would not fit their group: word of the stream in bits 20 to 31, output in
 * bits 8 to 19, a signed weight in bits 0 to 7.
 */
GLOWMCU_CODE
static void glowmcu_output_extras(const int32_t *extras, int32_t count, const uint32_t *stream,
    int32_t *sums)
{
    for (int32_t i = 0; i < count; ++i) {
        const uint32_t extra = (uint32_t)extras[i];

        sums[(extra >> 8) & 0xFFFu] += (int32_t)stream[extra >> 20] * (int8_t)(extra & 0xFFu);
    }
}

#endif /* GLOWMCU_OUTPUT_PAIRS_NODSP_H */

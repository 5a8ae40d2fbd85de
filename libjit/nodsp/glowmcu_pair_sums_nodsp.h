/*
 * glowmcu_pair_sums_nodsp.h: inner products of two pixels with one multiplication, no DSP needed.
 *
 * A word X = x1 + (x2 << 16) holds an element of two pixels; X * w is both products at once, as
 * long as the low half's sum stays within 16 bits. The compiler splits weights so that it does for
 * groups of four taps; then halves are added to 32-bit sums. Weights are stored as w + 128, which
 * loads faster; what that adds is subtracted once a group, before its first product.
 *
 * A stream has five words a group: 2^15 - 128 * (X0 + X1 + X2 + X3), X0, X1, X2, X3.
 */
#ifndef GLOWMCU_PAIR_SUMS_NODSP_H
#define GLOWMCU_PAIR_SUMS_NODSP_H

#include "glowmcu_base.h"
#include "glowmcu_thumb.h"

typedef struct glowmcu_pair_job {
    const uint32_t *stream;
    const uint8_t *weights; /* [output_pairs][groups][4 taps][2 outputs], + 128 */
    int32_t groups;         /* at least 1 */
    int32_t output_pairs;   /* at least 1 */
    int32_t *sums;          /* [output_pairs][2 outputs][2 pixels] */
} glowmcu_pair_job;

#if GLOWMCU_THUMB == 2
#include "glowmcu_pair_sums_armv7m.h"
#elif GLOWMCU_THUMB == 1
#include "glowmcu_pair_sums_armv6m.h"
#else
/* All output channels of two pixels. Sums are modulo 2^32 until the halves part. */
GLOWMCU_CODE
static void glowmcu_pair_sums(const glowmcu_pair_job *job)
{
    const uint8_t *w = job->weights;
    int32_t *sums = job->sums;

    for (int32_t output = 0; output < 2 * job->output_pairs; ++output) {
        const uint32_t *x = job->stream;
        const uint8_t *own = w + (output & 1);
        uint32_t all = 0u - ((uint32_t)job->groups << 15);
        int32_t second = 0;
        for (int32_t group = 0; group < job->groups; ++group, x += 5, own += 8) {
            const uint32_t sum = x[0] + x[1] * own[0] + x[2] * own[2] + x[3] * own[4]
                + x[4] * own[6];
            all += sum;
            second += (int32_t)sum >> 16;
        }
        sums[0] = (int32_t)(all - ((uint32_t)second << 16));
        sums[1] = second;
        sums += 2;
        if ((output & 1) != 0) {
            w += 8 * job->groups;
        }
    }
}
#endif

/* Writes a stream; `phase` taps of the group at `at` are there. */
typedef struct {
    uint32_t *at;
    int32_t phase;
} glowmcu_pair_writer;

GLOWMCU_CODE
static inline uint32_t glowmcu_pair_of(int8_t first, int8_t second)
{
    return (uint32_t)first + ((uint32_t)second << 16);
}

GLOWMCU_CODE
static inline void glowmcu_pair_close(uint32_t *group)
{
    group[0] = 0x8000u - ((group[1] + group[2] + group[3] + group[4]) << 7);
}

/* `count` more taps: neighbouring bytes of both pixels. */
GLOWMCU_CODE
static void glowmcu_pair_write(glowmcu_pair_writer *writer, const int8_t *first,
    const int8_t *second, int32_t count)
{
    uint32_t *at = writer->at;
    int32_t phase = writer->phase;

    while (count > 0) {
        if (phase == 0 && count >= 4) {
            const uint32_t x0 = glowmcu_pair_of(first[0], second[0]);
            const uint32_t x1 = glowmcu_pair_of(first[1], second[1]);
            const uint32_t x2 = glowmcu_pair_of(first[2], second[2]);
            const uint32_t x3 = glowmcu_pair_of(first[3], second[3]);
            at[0] = 0x8000u - ((x0 + x1 + x2 + x3) << 7);
            at[1] = x0;
            at[2] = x1;
            at[3] = x2;
            at[4] = x3;
            at += 5;
            first += 4;
            second += 4;
            count -= 4;
        } else {
            ++phase;
            at[phase] = glowmcu_pair_of(*first, *second);
            ++first;
            ++second;
            --count;
            if (phase == 4) {
                glowmcu_pair_close(at);
                at += 5;
                phase = 0;
            }
        }
    }
    writer->at = at;
    writer->phase = phase;
}

/* Fills the last group with zeros. */
GLOWMCU_CODE
static inline void glowmcu_pair_finish(glowmcu_pair_writer *writer)
{
    if (writer->phase != 0) {
        for (int32_t tap = writer->phase + 1; tap <= 4; ++tap) {
            writer->at[tap] = 0;
        }
        glowmcu_pair_close(writer->at);
    }
}

/*
 * Parts of weights that would not fit their group: word of the stream in bits 20 to 31, output in
 * bits 8 to 19, a signed weight in bits 0 to 7.
 */
GLOWMCU_CODE
static void glowmcu_pair_extras(const int32_t *extras, int32_t count, const uint32_t *stream,
    int32_t *sums)
{
    for (int32_t i = 0; i < count; ++i) {
        const uint32_t extra = (uint32_t)extras[i];
        const int32_t w = (int8_t)(extra & 0xFFu);
        const uint32_t both = stream[extra >> 20] * (uint32_t)w;
        const int32_t first = (int16_t)(both & 0xFFFFu); /* |x * w| <= 2^14 */
        int32_t *sum = sums + 2u * ((extra >> 8) & 0xFFFu);
        sum[0] += first;
        sum[1] += (int32_t)(both - (uint32_t)first) >> 16;
    }
}

#endif /* GLOWMCU_PAIR_SUMS_NODSP_H */

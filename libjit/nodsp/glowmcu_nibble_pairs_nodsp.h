/*
 * glowmcu_nibble_pairs_nodsp.h: inner products of two pixels and weights of four bits, with one
 * multiplication for both pixels, no DSP needed.
 *
 * A word X = x1 + (x2 << 16) holds an element of two pixels; X * w is both products at once. A word
 * W has the weights of eight outputs for it, as w + 8, the first one's in its uppermost bits.
 * Products with W >> 28, W >> 24, ... W are added up modulo 2^32: 16 times the first of these sums
 * taken from the second leaves what the second output's four bits make, so that nothing is masked.
 * Then -8 * (sum of all X) is added, and each half is the signed sum of a pixel. The compiler
 * chooses groups of taps so short that it fits 16 bits.
 */
#ifndef GLOWMCU_NIBBLE_PAIRS_NODSP_H
#define GLOWMCU_NIBBLE_PAIRS_NODSP_H

#include "glowmcu_base.h"
#include "glowmcu_saved_registers_nodsp.h"

/* In the order that the assembly loads. */
typedef struct glowmcu_nibble_job {
    const uint32_t *stream;      /* a word a tap, an even number of them, at least 2 */
    const uint32_t *stream_end;
    const uint32_t *corrections; /* -8 * sum of X, a word a group */
    int32_t group_bytes;         /* of the stream, a multiple of 16; the last may be shorter */
    const int32_t *weights;      /* [eights][taps] */
    int32_t eights;              /* of outputs, at least 1 */
    int32_t *sums;               /* [eights][8 outputs][2 pixels] */
} glowmcu_nibble_job;

#if GLOWMCU_THUMB != 0
#include "glowmcu_nibble_pairs_thumb.h"
#else
/* What eight outputs' weights of one group make: a sum in each half, less the correction. */
GLOWMCU_CODE
static inline void glowmcu_nibble_group(const uint32_t *x, const uint32_t *end, const int32_t *w,
    uint32_t both[8])
{
    uint32_t s0 = 0;
    uint32_t s1 = 0;
    uint32_t s2 = 0;
    uint32_t s3 = 0;
    uint32_t s4 = 0;
    uint32_t s5 = 0;
    uint32_t s6 = 0;
    uint32_t s7 = 0;

    do {
        const uint32_t pair = *x;
        const uint32_t word = (uint32_t)*w;

        s0 += pair * (word >> 28);
        s1 += pair * (word >> 24);
        s2 += pair * (word >> 20);
        s3 += pair * (word >> 16);
        s4 += pair * (word >> 12);
        s5 += pair * (word >> 8);
        s6 += pair * (word >> 4);
        s7 += pair * word;
        ++x;
        ++w;
    } while (x != end);
    both[0] = s0;
    both[1] = s1 - (s0 << 4);
    both[2] = s2 - (s1 << 4);
    both[3] = s3 - (s2 << 4);
    both[4] = s4 - (s3 << 4);
    both[5] = s5 - (s4 << 4);
    both[6] = s6 - (s5 << 4);
    both[7] = s7 - (s6 << 4);
}

/* All output channels of two pixels. */
GLOWMCU_CODE
static void glowmcu_nibble_pairs(const glowmcu_nibble_job *job)
{
    const int32_t *w = job->weights;
    int32_t *sums = job->sums;
    const int32_t taps = (int32_t)(job->stream_end - job->stream);
    const int32_t group_taps = job->group_bytes >> 2;

    for (int32_t eight = 0; eight < job->eights; ++eight, sums += 16) {
        const uint32_t *correction = job->corrections;

        for (int32_t tap = 0; tap < taps; tap += group_taps, ++correction) {
            const int32_t left = taps - tap;
            const int32_t some = (left < group_taps) ? left : group_taps;
            const uint32_t *x = job->stream + tap;
            uint32_t both[8];

            glowmcu_nibble_group(x, x + some, w, both);
            w += some;
            for (int32_t i = 0; i < 8; ++i) {
                const uint32_t sum = both[i] + *correction;
                const int32_t first = (int16_t)(sum & 0xFFFFu);
                const int32_t second = (int32_t)(sum - (uint32_t)first) >> 16;
                sums[2 * i] = (tap == 0) ? first : sums[2 * i] + first;
                sums[2 * i + 1] = (tap == 0) ? second : sums[2 * i + 1] + second;
            }
        }
    }
}
#endif

/* Writes a stream; `left` taps are missing in the group whose sum so far is `sum`. */
typedef struct {
    uint32_t *at;
    uint32_t *correction;
    uint32_t sum;
    int32_t left;
    int32_t group_taps;
} glowmcu_nibble_writer;

GLOWMCU_CODE
static inline void glowmcu_nibble_close(glowmcu_nibble_writer *writer)
{
    *writer->correction = 0u - (writer->sum << 3);
    ++writer->correction;
    writer->sum = 0;
    writer->left = writer->group_taps;
}

/* `count` taps from neighbouring bytes of both pixels, at least one; their sum. */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static uint32_t glowmcu_nibble_run(uint32_t *at, const int8_t *first,
    const int8_t *second, int32_t count)
{
    uint32_t sum = 0;
    int32_t i = 0;

    do {
        const uint32_t both = (uint32_t)first[i] + ((uint32_t)second[i] << 16);
        *at = both;
        ++at;
        sum += both;
        ++i;
    } while (i != count);
    return sum;
}

/* `count` more taps. */
GLOWMCU_CODE
static void glowmcu_nibble_write(glowmcu_nibble_writer *writer, const int8_t *first,
    const int8_t *second, int32_t count)
{
    while (count > 0) {
        const int32_t some = (count < writer->left) ? count : writer->left;

        writer->sum += glowmcu_nibble_run(writer->at, first, second, some);
        writer->at += some;
        writer->left -= some;
        if (writer->left == 0) {
            glowmcu_nibble_close(writer);
        }
        first += some;
        second += some;
        count -= some;
    }
}

/* Ends the last group: zeros up to `end`. */
GLOWMCU_CODE
static inline void glowmcu_nibble_finish(glowmcu_nibble_writer *writer, const uint32_t *end)
{
    while (writer->at != end) {
        *writer->at = 0;
        ++writer->at;
    }
    if (writer->left != writer->group_taps) {
        glowmcu_nibble_close(writer);
    }
}

#endif /* GLOWMCU_NIBBLE_PAIRS_NODSP_H */

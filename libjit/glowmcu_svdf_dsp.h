/*
 * glowmcu_svdf_dsp.h: rank-1 filters over time, int8 with a state of int8, four filters at a time.
 *
 * A filter's queue moves up by a byte while words of it are multiplied.
 */
#ifndef GLOWMCU_SVDF_DSP_H
#define GLOWMCU_SVDF_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_svdf.h"

/* sum + four int8 products. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_svdf_four(uint32_t x, uint32_t w, int32_t sum)
{
    sum = glowmcu_smlad(glowmcu_sxtb16(x), glowmcu_sxtb16(w), sum);
    return glowmcu_smlad(glowmcu_sxtb16_ror8(x), glowmcu_sxtb16_ror8(w), sum);
}

/* What four filters, whose weights begin at `rows`, make of the input. */
GLOWMCU_CODE
static void glowmcu_svdf_features(const glowmcu_svdf *p, const int8_t *x,
    const int8_t *const rows[4], int32_t sums[4])
{
    const int8_t *w0 = rows[0];
    const int8_t *w1 = rows[1];
    const int8_t *w2 = rows[2];
    const int8_t *w3 = rows[3];
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    int32_t i = 0;

    for (; i + 4 <= p->depth; i += 4) {
        const uint32_t four = glowmcu_load_word(x + i);
        const uint32_t even = glowmcu_sxtb16(four);
        const uint32_t odd = glowmcu_sxtb16_ror8(four);
        uint32_t w = glowmcu_load_word(w0 + i);
        sum0 = glowmcu_smlad(even, glowmcu_sxtb16(w), sum0);
        sum0 = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w), sum0);
        w = glowmcu_load_word(w1 + i);
        sum1 = glowmcu_smlad(even, glowmcu_sxtb16(w), sum1);
        sum1 = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w), sum1);
        w = glowmcu_load_word(w2 + i);
        sum2 = glowmcu_smlad(even, glowmcu_sxtb16(w), sum2);
        sum2 = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w), sum2);
        w = glowmcu_load_word(w3 + i);
        sum3 = glowmcu_smlad(even, glowmcu_sxtb16(w), sum3);
        sum3 = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w), sum3);
    }
    for (; i < p->depth; ++i) {
        sum0 += x[i] * w0[i];
        sum1 += x[i] * w1[i];
        sum2 += x[i] * w2[i];
        sum3 += x[i] * w3[i];
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/*
 * sum + products of a filter's queue with its weights; `memory` bytes, a multiple of four, move up
 * by one and end with `newest`. The new queue may be where the old one is: a word is read, from its
 * second byte on, before the byte that follows it is written.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_svdf_move(const int8_t *state, int8_t *after, const int8_t *times,
    int32_t memory, uint32_t newest, int32_t sum)
{
    uint32_t word;

    for (int32_t i = 4; i < memory; i += 4) {
        word = glowmcu_load_word(state + 1);
        glowmcu_store_word(after, word);
        sum = glowmcu_svdf_four(word, glowmcu_load_word(times), sum);
        state += 4;
        after += 4;
        times += 4;
    }
    word = (glowmcu_load_word(state) >> 8) | (newest << 24);
    glowmcu_store_word(after, word);
    return glowmcu_svdf_four(word, glowmcu_load_word(times), sum);
}

/*
 * x is [batches][depth], out [batches][units], states [batches][units][rank][memory]; the new state
 * may be where the old one is.
 */
GLOWMCU_CODE
static void glowmcu_svdf_s8_dsp(const glowmcu_svdf *p, const int8_t *x, const int8_t *state,
    int8_t *out, int8_t *after)
{
    const int32_t filters = p->units * p->rank;

    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int8_t *times = (const int8_t *)p->times;
        const int32_t *bias = p->biases;
        int32_t sum = *bias;
        int32_t left = p->rank;

        for (int32_t first = 0; first < filters; first += 4) {
            const int8_t *rows[4];
            int32_t sums[4];

            for (int32_t i = 0; i < 4; ++i) {
                const int32_t filter = (first + i < filters) ? first + i : filters - 1;
                rows[i] = p->features + filter * p->depth;
                sums[i] = p->feature_biases[filter];
            }
            glowmcu_svdf_features(p, x, rows, sums);
            for (int32_t i = 0; i < 4 && first + i < filters; ++i) {
                const int32_t scaled =
                    glowmcu_requantize(sums[i], p->feature_multiplier, p->feature_shift);
                const int32_t newest = glowmcu_saturate_s8(scaled) + p->state_zero_point;
                sum = glowmcu_svdf_move(state, after, times, p->memory, (uint32_t)newest, sum);
                times += p->memory;
                state += p->memory;
                after += p->memory;
                --left;
                if (left == 0) {
                    *out = glowmcu_svdf_result(p, (uint32_t)sum);
                    ++out;
                    ++bias;
                    if (first + i + 1 < filters) {
                        sum = *bias;
                    }
                    left = p->rank;
                }
            }
        }
        x += p->depth;
    }
}

#endif /* GLOWMCU_SVDF_DSP_H */

/*
 * glowmcu_svdf_dsp.h: rank-1 filters over time, int8 with a state of int8, four filters at a time.
 *
 * A filter's queue moves up by a byte while words of it are multiplied. The stream has for each
 * four filters:
 *
 *   packed   whether weights of two filters are one int16, 256 * high + low, so that their sums are
 *            S = 256 * H + L and, of the low bytes, L; 2 more where the first filter is the low
 *            one, and 4 more where the third is
 *   starts   of the sums: S, L, S, L, or one a filter
 *   inputs   weights, for every four inputs {x0, x2}, {x1, x3} of the first two filters, then of
 *            the others, or a word a filter; zeros behind the last input
 *   times    for each filter what the unit's sum grows by, then its weights of time, [memory]
 */
#ifndef GLOWMCU_SVDF_DSP_H
#define GLOWMCU_SVDF_DSP_H

#include "glowmcu_dsp.h"

/* Times multiplier * 2^(-shift - 31); `step` is half of what is dropped, and an offset. */
typedef struct {
    int32_t multiplier;
    int32_t step;
    int32_t shift; /* in [1, 31] */
} glowmcu_svdf_scale;

typedef struct {
    int32_t batches;
    int32_t depth;
    int32_t filters;
    int32_t state_zero_point;
    glowmcu_svdf_scale feature; /* to the state */
    glowmcu_svdf_scale time;    /* to the result, with its zero point; 2 * multiplier - 2^32 */
    const uint32_t *stream;
} glowmcu_svdf_streamed;

/* Of `twice` a sum. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_svdf_feature_byte(const glowmcu_svdf_streamed *p,
    int32_t twice)
{
    const int32_t x = glowmcu_smmlar(twice, p->feature.multiplier, p->feature.step);

    return glowmcu_saturate_s8((x + glowmcu_sign(twice)) >> p->feature.shift) + p->state_zero_point;
}

/*
 * Of any sum, wrapped as the reference's. The multiplier is twice what it stands for, less 2^32:
 * what that lacks, `sum` times 2^32, is the sum itself in the high word.
 */
static GLOWMCU_ALWAYS_INLINE int8_t glowmcu_svdf_output(const glowmcu_svdf_scale *time,
    int32_t sum)
{
    const int32_t x = glowmcu_smmlar(sum, time->multiplier, sum);

    return (int8_t)glowmcu_saturate_s8((x + glowmcu_sign(x) + time->step) >> time->shift);
}

/* sum + four int8 products. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_svdf_four(uint32_t x, uint32_t w, int32_t sum)
{
    sum = glowmcu_smlad(glowmcu_sxtb16(x), glowmcu_sxtb16(w), sum);
    return glowmcu_smlad(glowmcu_sxtb16_ror8(x), glowmcu_sxtb16_ror8(w), sum);
}

/* Four inputs with their weights of four filters. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_svdf_step(uint32_t four, const uint32_t *w,
    int32_t packed, int32_t sums[4])
{
    const uint32_t even = glowmcu_sxtb16(four);
    const uint32_t odd = glowmcu_sxtb16_ror8(four);
    const uint32_t w0 = w[0];
    const uint32_t w1 = w[1];
    const uint32_t w2 = w[2];
    const uint32_t w3 = w[3];

    if (packed == 0) {
        sums[0] = glowmcu_smlad(even, glowmcu_sxtb16(w0), sums[0]);
        sums[0] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w0), sums[0]);
        sums[1] = glowmcu_smlad(even, glowmcu_sxtb16(w1), sums[1]);
        sums[1] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w1), sums[1]);
        sums[2] = glowmcu_smlad(even, glowmcu_sxtb16(w2), sums[2]);
        sums[2] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w2), sums[2]);
        sums[3] = glowmcu_smlad(even, glowmcu_sxtb16(w3), sums[3]);
        sums[3] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(w3), sums[3]);
        return;
    }
    sums[0] = glowmcu_smlad(even, w0, sums[0]);
    sums[1] = glowmcu_smlad(even, glowmcu_sxtb16(w0), sums[1]);
    sums[0] = glowmcu_smlad(odd, w1, sums[0]);
    sums[1] = glowmcu_smlad(odd, glowmcu_sxtb16(w1), sums[1]);
    sums[2] = glowmcu_smlad(even, w2, sums[2]);
    sums[3] = glowmcu_smlad(even, glowmcu_sxtb16(w2), sums[3]);
    sums[2] = glowmcu_smlad(odd, w3, sums[2]);
    sums[3] = glowmcu_smlad(odd, glowmcu_sxtb16(w3), sums[3]);
}

/* All inputs of four filters; `tail` is depth % 8, `rest` the last depth % 4 inputs. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_svdf_inputs(const int8_t *x, const int8_t *end,
    const uint32_t *w, uint32_t rest, int32_t tail, int32_t packed, int32_t sums[4])
{
    while (x != end) {
        glowmcu_svdf_step(glowmcu_load_word(x), w, packed, sums);
        glowmcu_svdf_step(glowmcu_load_word(x + 4), w + 4, packed, sums);
        x += 8;
        w += 8;
    }
    if (tail >= 4) {
        glowmcu_svdf_step(glowmcu_load_word(x), w, packed, sums);
        w += 4;
    }
    if (tail % 4 != 0) {
        glowmcu_svdf_step(rest, w, packed, sums);
    }
}

/* The newest bytes of four filters, the first one lowest, of twice their sums. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_svdf_bytes(const glowmcu_svdf_streamed *p, int32_t a,
    int32_t b, int32_t c, int32_t d)
{
    return glowmcu_pack_bytes(glowmcu_svdf_feature_byte(p, a), glowmcu_svdf_feature_byte(p, b),
        glowmcu_svdf_feature_byte(p, c), glowmcu_svdf_feature_byte(p, d));
}

/* The same from the input and a block of the stream. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_svdf_newest(const glowmcu_svdf_streamed *p,
    const int8_t *x, const uint32_t *w, uint32_t rest, int32_t tail)
{
    const int8_t *end = x + (p->depth - tail);
    const uint32_t packed = w[0];
    int32_t sums[4] = {(int32_t)w[1], (int32_t)w[2], (int32_t)w[3], (int32_t)w[4]};
    uint32_t bytes;

    if (packed == 0u) {
        glowmcu_svdf_inputs(x, end, w + 5, rest, tail, 0, sums);
        return glowmcu_svdf_bytes(p, sums[0] * 2, sums[1] * 2, sums[2] * 2, sums[3] * 2);
    }
    glowmcu_svdf_inputs(x, end, w + 5, rest, tail, 1, sums);
    bytes = glowmcu_svdf_bytes(p, glowmcu_wrapping_add(sums[0], -sums[1]) >> 7, sums[1] * 2,
        glowmcu_wrapping_add(sums[2], -sums[3]) >> 7, sums[3] * 2);
    if ((packed & 2u) != 0u) { /* the first filter is the low one */
        bytes = (bytes & 0xFFFF0000u) | ((bytes & 0xFFu) << 8) | ((bytes >> 8) & 0xFFu);
    }
    if ((packed & 4u) != 0u) {
        bytes = (bytes & 0xFFFFu) | ((bytes & 0xFF0000u) << 8) | ((bytes >> 8) & 0xFF0000u);
    }
    return bytes;
}

/* What a template makes of it. */
typedef uint32_t (*glowmcu_svdf_features)(const glowmcu_svdf_streamed *p, const int8_t *x,
    const uint32_t *w, uint32_t rest);

/* A word of a queue, from its second byte on, becomes the new queue's; sum + products. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_svdf_move_word(const int8_t *state, int8_t *after,
    const uint32_t *times, int32_t at, int32_t sum)
{
    const uint32_t word = glowmcu_load_word(state + 4 * at + 1);

    glowmcu_store_word(after + 4 * at, word);
    return glowmcu_svdf_four(word, times[at], sum);
}

/*
 * sum + products of a filter's queue with its weights; `memory` bytes move up by one and end with
 * the lowest of `newest`. The new queue may be where the old one is: a word is read before the byte
 * that follows it is written.
 */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_svdf_move(const int8_t *state, int8_t *after,
    const uint32_t *times, int32_t memory, uint32_t newest, int32_t sum)
{
    const int32_t last = memory / 4 - 1;
    uint32_t word;
    int32_t i = 0;

    for (; i < last % 4; ++i) {
        sum = glowmcu_svdf_move_word(state, after, times, i, sum);
    }
    for (; i < last; i += 4) {
        sum = glowmcu_svdf_move_word(state, after, times, i, sum);
        sum = glowmcu_svdf_move_word(state, after, times, i + 1, sum);
        sum = glowmcu_svdf_move_word(state, after, times, i + 2, sum);
        sum = glowmcu_svdf_move_word(state, after, times, i + 3, sum);
    }
    word = (glowmcu_load_word(state + 4 * last) >> 8) | (newest << 24);
    glowmcu_store_word(after + 4 * last, word);
    return glowmcu_svdf_four(word, times[last], sum);
}

/*
 * x is [batches][depth], out [batches][filters / rank], states [batches][filters][memory]; the new
 * state may be where the old one is. `tail` is filters % 4.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_svdf_rows(const glowmcu_svdf_streamed *p,
    glowmcu_svdf_features features, const int8_t *x, const int8_t *state, int8_t *out,
    int8_t *after, int32_t memory, int32_t rank, int32_t tail)
{
    const glowmcu_svdf_scale time = p->time;
    const int32_t input_words = 5 + 4 * ((p->depth + 3) / 4);

    for (int32_t batch = 0; batch < p->batches; ++batch, x += p->depth) {
        const uint32_t *w = p->stream;
        uint32_t rest = 0;
        int32_t left = rank;
        int32_t sum = 0;

        for (int32_t i = 1; i <= (p->depth & 3); ++i) {
            rest = (rest << 8) | (uint8_t)x[p->depth - i];
        }
        for (int32_t first = 0; first < p->filters; first += 4) {
            const int32_t count = (tail != 0 && p->filters - first < 4) ? tail : 4;
            uint32_t newest = features(p, x, w, rest);

            w += input_words;
            for (int32_t i = 0; i < count; ++i) {
                sum = glowmcu_wrapping_add(sum, (int32_t)w[0]);
                sum = glowmcu_svdf_move(state, after, w + 1, memory, newest, sum);
                newest >>= 8;
                w += 1 + memory / 4;
                state += memory;
                after += memory;
                --left;
                if (left == 0) {
                    *out = glowmcu_svdf_output(&time, sum);
                    ++out;
                    sum = 0;
                    left = rank;
                }
            }
        }
    }
}

#endif /* GLOWMCU_SVDF_DSP_H */

/*
 * glowmcu_dense_stream.h: blocks of output channels that read all inputs of one place.
 *
 * A layer's stream of constants is one block of 4 or 8 channels after the other, the last channels'
 * first, down to channel 0; where channels do not fill the blocks, one overlaps its neighbour.
 * Packed weights are 256 * high + low of two channels, so their sum is S = 256 * H + L, and that of
 * their low bytes L; wide ones have an int16 for each channel. Where 256 * H would leave 32 bits,
 * packed weights in sections of inputs have S and L of a section at a time, and wide sums. Words of
 * a block:
 *
 *   starts     what sums start from: of wide sums a word a channel; else a word a pair, of S,
 *              and, but for the floor form, then another a pair, of L
 *   weights    for every step of two inputs a word a pair (wide: a channel), an int16 an input
 *   place      2 * first channel, and 1 where the layer's struct says that this is a flag
 *   constants  of requantization, channel by channel; none where all channels share theirs
 *
 * Constants and results of the three forms, where `>>` rounds down, high_word(x) is x >> 32 of a
 * product and saturation to int8 comes last:
 *
 *   floor      addend, multiplier: high_word((256 * sum + addend) * multiplier) >> postshift; the
 *              high channel of a packed pair has no addend, it is part of where S starts
 *   two_sided  addend, multiplier, step: the same; of a negative sum step is added before the shift
 *   literal    multiplier, step, shift: (rounded high_word of 2 * sum * multiplier, plus step, less
 *              1 where the sum is negative) >> shift
 *
 * Kernels of Armv7E-M are assembly on that stream, elsewhere the C here does the same.
 */
#ifndef GLOWMCU_DENSE_STREAM_H
#define GLOWMCU_DENSE_STREAM_H

#include "glowmcu_dsp.h"

#define GLOWMCU_FORM_FLOOR 0
#define GLOWMCU_FORM_TWO_SIDED 1
#define GLOWMCU_FORM_LITERAL 2

/* Inputs as words: {x0, x2}, {x1, x3} of each four, then {x0, x1}, {x2} of up to three. */
GLOWMCU_CODE
static inline void glowmcu_dense_widen(const int8_t *in, int32_t depth, uint32_t *words,
    int32_t stride)
{
    for (; depth >= 4; depth -= 4, in += 4, words += 2 * stride) {
        const uint32_t four = glowmcu_load_word(in);
        words[0] = glowmcu_sxtb16(four);
        words[stride] = glowmcu_sxtb16_ror8(four);
    }
    if (depth > 0) {
        words[0] = glowmcu_halves(in[0], (depth > 1) ? in[1] : 0);
    }
    if (depth > 2) {
        words[stride] = glowmcu_halves(in[2], 0);
    }
}

#if !GLOWMCU_HAS_DSP
/* What a function is made for. */
typedef struct {
    int32_t channels; /* of a block, 8 at most */
    int32_t form;
    int32_t postshift;
    int32_t wide; /* 1: weights and sums, 2: sums alone, of packed weights in sections */
} glowmcu_dense_shape;

/* The int16 halves of two packed weights' high channel; of the low one glowmcu_sxtb16. */
GLOWMCU_CODE
static inline uint32_t glowmcu_dense_high(uint32_t packed)
{
    const uint32_t low = glowmcu_sxtb16(packed);
    const uint32_t first = (packed - low) & 0xFF00U;
    const uint32_t second = ((packed >> 16) - (low >> 16)) & 0xFF00U;

    return glowmcu_sxtb16_ror8((second << 16) | first);
}

/* What sums start from; packed ones are S, L, S, L, …. Returns what follows. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_dense_start(const glowmcu_dense_shape *k, const int32_t *w,
    int32_t sums[8])
{
    const int32_t pairs = k->channels / 2;

    for (int32_t i = 0; i < k->channels; ++i) {
        if (k->wide != 0) {
            sums[i] = w[i];
        } else {
            sums[i] = ((i & 1) == 0) ? w[i / 2] : 0;
            if ((i & 1) != 0 && k->form != GLOWMCU_FORM_FLOOR) {
                sums[i] = w[pairs + i / 2];
            }
        }
    }
    return w + ((k->wide != 0 || k->form != GLOWMCU_FORM_FLOOR) ? k->channels : pairs);
}

/* Some steps on top of the sums. Returns what follows their weights. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_dense_add(const glowmcu_dense_shape *k,
    const uint32_t *words, int32_t stride, int32_t steps, const int32_t *w, int32_t sums[8])
{
    for (int32_t step = 0; step < steps; ++step, words += stride) {
        for (int32_t i = 0; i < k->channels; ++i) {
            uint32_t weights = (uint32_t)((k->wide == 1) ? w[i] : w[i / 2]);
            if (k->wide != 1 && (i & 1) != 0) {
                weights = glowmcu_sxtb16(weights);
            } else if (k->wide == 2) {
                weights = glowmcu_dense_high(weights);
            } else {
                /* As they are. */
            }
            sums[i] = glowmcu_smlad(*words, weights, sums[i]);
        }
        w += (k->wide == 1) ? k->channels : k->channels / 2;
    }
    return w;
}

/* One result; `scaled` is 2^8 times the sum, `c` the channel's constants. */
GLOWMCU_CODE
static inline int8_t glowmcu_dense_requantize(const glowmcu_dense_shape *k, int32_t scaled,
    int32_t sum, const int32_t *c)
{
    int32_t x;

    if (k->form == GLOWMCU_FORM_LITERAL) {
        x = glowmcu_smmlar((int32_t)((uint32_t)sum << 1), c[0], c[1]);
        x = glowmcu_wrapping_add(x, glowmcu_sign(sum)) >> c[2];
    } else {
        const int32_t step = (k->form == GLOWMCU_FORM_FLOOR) ? 0 : (c[2] & glowmcu_sign(sum));
        x = glowmcu_smmla(glowmcu_wrapping_add(scaled, c[0]), c[1], step) >> k->postshift;
    }
    return (int8_t)glowmcu_saturate_s8(x);
}

/*
 * The results of a block from its sums and what follows its weights; returns the next block.
 * `shared` are constants of all channels, NULL where each has its own.
 */
GLOWMCU_CODE
static inline const int32_t *glowmcu_dense_results(const glowmcu_dense_shape *k,
    const int32_t sums[8], const int32_t *next, const int32_t *shared, int8_t *out)
{
    const int32_t *c = (shared != NULL) ? shared : next + 1;

    out += next[0] >> 1;
    for (int32_t i = 0; i < k->channels; ++i) {
        if (k->wide == 0 && (i & 1) == 0) {
            const int32_t high = (int32_t)((uint32_t)sums[i] - (uint32_t)sums[i + 1]);
            if (k->form == GLOWMCU_FORM_FLOOR) {
                out[i] = (int8_t)glowmcu_saturate_s8(glowmcu_smmla(high, c[0], 0) >> k->postshift);
                ++c;
                continue;
            }
            out[i] = glowmcu_dense_requantize(k, high, high >> 8, c);
        } else {
            out[i] = glowmcu_dense_requantize(k, (int32_t)((uint32_t)sums[i] << 8), sums[i], c);
        }
        if (shared == NULL) {
            c += (k->form == GLOWMCU_FORM_FLOOR) ? 2 : 3;
        }
    }
    return (shared != NULL) ? next + 1 : c;
}

/* The channels of a block for one place in the input, all of it widened; returns the next block. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_dense_block(const glowmcu_dense_shape *k,
    const uint32_t *words, int32_t stride, int32_t steps, const int32_t *block,
    const int32_t *shared, int8_t *out)
{
    int32_t sums[8];
    const int32_t *w = glowmcu_dense_start(k, block, sums);

    w = glowmcu_dense_add(k, words, stride, steps, w, sums);
    return glowmcu_dense_results(k, sums, w, shared, out);
}
#endif

/* Into [lowest, highest], where a fused activation needs it: nothing when they are crossed. */
GLOWMCU_CODE
static inline void glowmcu_dense_clamp(int8_t *out, int32_t count, int32_t lowest, int32_t highest)
{
    for (int32_t i = 0; i < count && lowest <= highest; ++i) {
        const int32_t x = out[i];
        out[i] = (int8_t)((x < lowest) ? lowest : ((x > highest) ? highest : x));
    }
}

#endif /* GLOWMCU_DENSE_STREAM_H */

/*
 * glowmcu_spectrum.h: spectra of frames in words of 32 bits, and what becomes of their sums.
 *
 * Words stay below 2^30 and sums of two below 2^31: the window's shift sees to that. Factors are
 * Q15, in pairs of real and imaginary part.
 */
#ifndef GLOWMCU_SPECTRUM_H
#define GLOWMCU_SPECTRUM_H

#include "glowmcu_dsp.h"
#include "glowmcu_signal_bits.h"

typedef struct {
    int32_t re;
    int32_t im;
} glowmcu_word_pair;

static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_of(int32_t re, int32_t im)
{
    glowmcu_word_pair z;

    z.re = re;
    z.im = im;
    return z;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_load(const int32_t *from)
{
    return glowmcu_word_pair_of(from[0], from[1]);
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_word_pair_store(int32_t *to, glowmcu_word_pair z)
{
    to[0] = z.re;
    to[1] = z.im;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_add(
    glowmcu_word_pair a, glowmcu_word_pair b)
{
    return glowmcu_word_pair_of(a.re + b.re, a.im + b.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_sub(
    glowmcu_word_pair a, glowmcu_word_pair b)
{
    return glowmcu_word_pair_of(a.re - b.re, a.im - b.im);
}

/* a + i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_add_left(
    glowmcu_word_pair a, glowmcu_word_pair b)
{
    return glowmcu_word_pair_of(a.re - b.im, a.im + b.re);
}

/* a - i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_add_right(
    glowmcu_word_pair a, glowmcu_word_pair b)
{
    return glowmcu_word_pair_of(a.re + b.im, a.im - b.re);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_half(glowmcu_word_pair z)
{
    return glowmcu_word_pair_of(z.re >> 1, z.im >> 1);
}

/* x * factor / 2^bits, rounded down; bits are 15 or 16, |x| < 2^31. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_word_product(int32_t x, int32_t factor, int32_t bits)
{
#if GLOWMCU_THUMB == 1
    /* Products of 32 bits alone: of the upper half, and of the lower one, which has no sign. */
    const int32_t upper = (x >> 16) * factor;
    const int32_t lower = (int32_t)((uint32_t)x & 0xFFFFu) * factor;

    return upper * ((bits == 15) ? 2 : 1) + (lower >> bits);
#else
    return (int32_t)(((int64_t)x * (factor * 65536)) >> (bits + 16));
#endif
}

static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_scaled(
    glowmcu_word_pair z, int32_t factor)
{
    return glowmcu_word_pair_of(
        glowmcu_word_product(z.re, factor, 15), glowmcu_word_product(z.im, factor, 15));
}

#if GLOWMCU_HAS_DSP
typedef uint32_t glowmcu_turn;

static GLOWMCU_ALWAYS_INLINE glowmcu_turn glowmcu_turn_load(const int16_t *from)
{
    return glowmcu_load_word(from);
}

/* z * turn / 2, each product rounded down. */
static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_turned(
    glowmcu_word_pair z, glowmcu_turn turn)
{
    int32_t re;
    int32_t taken;
    int32_t im;

    __asm__("smulwb %0, %1, %2" : "=r"(re) : "r"(z.re), "r"(turn));
    __asm__("smulwt %0, %1, %2" : "=r"(taken) : "r"(z.im), "r"(turn));
    __asm__("smulwt %0, %1, %2" : "=r"(im) : "r"(z.re), "r"(turn));
    __asm__("smlawb %0, %1, %2, %3" : "=r"(im) : "r"(z.im), "r"(turn), "r"(im));
    return glowmcu_word_pair_of(re - taken, im);
}
#else
typedef struct {
    int32_t re;
    int32_t im;
} glowmcu_turn;

static GLOWMCU_ALWAYS_INLINE glowmcu_turn glowmcu_turn_load(const int16_t *from)
{
    glowmcu_turn turn;

    turn.re = from[0];
    turn.im = from[1];
    return turn;
}

/* z * turn / 2, each product rounded down. */
static GLOWMCU_ALWAYS_INLINE glowmcu_word_pair glowmcu_word_pair_turned(
    glowmcu_word_pair z, glowmcu_turn turn)
{
    return glowmcu_word_pair_of(
        glowmcu_word_product(z.re, turn.re, 16) - glowmcu_word_product(z.im, turn.im, 16),
        glowmcu_word_product(z.re, turn.im, 16) + glowmcu_word_product(z.im, turn.re, 16));
}
#endif

/*
 * `count` bins of a spectrum from `z` on become their squared magnitudes, at most 2^31, at `out`,
 * which may be at `z` or below. Returns by how many bits parts were shifted right.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_spectrum_squares(const int32_t *z, int32_t count, uint32_t *out)
{
    uint32_t bits = 0u;
    int32_t shift;
    int32_t half;

    for (int32_t k = 0; k < 2 * count; ++k) {
        bits |= (uint32_t)(z[k] ^ (z[k] >> 31));
    }
    shift = glowmcu_bit_length(bits) - 15;
    shift = (shift > 0) ? shift : 0;
    half = (int32_t)(((uint32_t)1 << shift) >> 1);
    for (int32_t k = 0; k < count; ++k) {
        const int32_t re = (z[2 * k] + half) >> shift;
        const int32_t im = (z[2 * k + 1] + half) >> shift;

        out[k] = (uint32_t)(re * re) + (uint32_t)(im * im);
    }
    return shift;
}

/* Sums of products with weights from 0 on, which add up to less than 2^16; below 2^47. */
static GLOWMCU_ALWAYS_INLINE uint64_t glowmcu_spectrum_sum(
    const uint32_t *x, const int16_t *w, int32_t count)
{
#if GLOWMCU_THUMB == 1
    /* Halves by products of 32 bits: each sum is below 2^32. */
    uint32_t low = 0u;
    uint32_t high = 0u;

    for (int32_t k = 0; k < count; ++k) {
        const uint32_t weight = (uint32_t)w[k];

        low += weight * (x[k] & 0xFFFFu);
        high += weight * (x[k] >> 16);
    }
    return ((uint64_t)high << 16) + low;
#else
    uint64_t sum = 0u;

    for (int32_t k = 0; k < count; ++k) {
        sum += (uint64_t)(uint32_t)w[k] * x[k];
    }
    return sum;
#endif
}

/* number * 2^power; a number that is not 0 has 31 bits. */
typedef struct {
    uint32_t number;
    int32_t power;
} glowmcu_level;

/* A sum of less than 2^62. */
static GLOWMCU_ALWAYS_INLINE glowmcu_level glowmcu_level_of(uint64_t sum, int32_t power)
{
    const uint32_t high = (uint32_t)(sum >> 31);
    const uint32_t low = (uint32_t)(sum & 0x7FFFFFFFu);
    glowmcu_level x;
    int32_t more;

    if (high != 0u) {
        more = glowmcu_bit_length(high); /* 31 at most */
        x.number = (high << (31 - more)) | (low >> more);
    } else {
        more = (low != 0u) ? glowmcu_bit_length(low) - 31 : 0;
        x.number = low << -more;
    }
    x.power = power + more;
    return x;
}

/* x plus a number that is not 0; what is too small to count is cut off. */
static GLOWMCU_ALWAYS_INLINE glowmcu_level glowmcu_level_plus(
    glowmcu_level x, uint32_t number, int32_t power)
{
    int32_t more = x.power - power;
    uint32_t is_above;

    if (x.number == 0u || more < -31) {
        x.number = number;
        x.power = power;
    } else if (more <= 31) {
        if (more >= 0) {
            x.number += number >> more;
        } else {
            x.number = number + (x.number >> -more);
            x.power = power;
        }
        is_above = x.number >> 31;
        x.number >>= is_above;
        x.power += (int32_t)is_above;
    } else {
        /* x is all that counts. */
    }
    return x;
}

/* log2 of a number of 31 bits, in units of 2^-16; `table` is that of the front ends of speech. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_level_log2(const int16_t *table, glowmcu_level x)
{
    const int32_t fraction = (int32_t)((x.number & 0x3FFFFFFFu) >> 14);
    const int16_t *line = table + (fraction >> 9);
    const int32_t inside = ((line[1] - line[0]) * (fraction & 511)) >> 9;

    return (30 + x.power) * 65536 + fraction + line[0] + inside;
}

/* x * number * 2^power, rounded, or 2^16 where that is as much or more. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_level_product(
    glowmcu_level x, uint32_t number, int32_t power)
{
    const int32_t shift = -(x.power + power);

    if (x.number == 0u || shift > 62) {
        return 0;
    }
    if (shift < 44) {
        return 65536; /* the product has 61 bits or more */
    }
    return (int32_t)(((uint64_t)x.number * number + ((uint64_t)1 << (shift - 1))) >> shift);
}

#endif /* GLOWMCU_SPECTRUM_H */

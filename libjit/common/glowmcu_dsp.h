/*
 * glowmcu_dsp.h: the Armv7E-M / Armv8-M DSP instructions that kernels use, and their meaning in C.
 *
 * On a core with the DSP extension every function is one instruction; elsewhere, or with
 * GLOWMCU_PORTABLE defined, it is the same function in C99, so a computer runs what a core runs on
 * the same packed constants. `lo` and `hi` are the signed 16-bit halves of a word.
 */
#ifndef GLOWMCU_DSP_H
#define GLOWMCU_DSP_H

#include <string.h>

#include "glowmcu_thumb.h"

#if defined(__ARM_FEATURE_DSP) && (__ARM_FEATURE_DSP == 1) && GLOWMCU_THUMB == 2 \
    && GLOWMCU_HAS_UNALIGNED
#define GLOWMCU_HAS_DSP 1
#else
#define GLOWMCU_HAS_DSP 0
#endif

/* Four bytes of memory as a word, the first one lowest, at any address. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_load_word(const void *from)
{
#if GLOWMCU_BIG_ENDIAN
    const uint8_t *bytes = (const uint8_t *)from;

    return (uint32_t)bytes[0] | ((uint32_t)bytes[1] << 8) | ((uint32_t)bytes[2] << 16)
        | ((uint32_t)bytes[3] << 24);
#else
    uint32_t word;

    (void)memcpy(&word, from, sizeof word);
    return word;
#endif
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_store_word(void *to, uint32_t word)
{
#if GLOWMCU_BIG_ENDIAN
    uint8_t *bytes = (uint8_t *)to;

    bytes[0] = (uint8_t)(word & 0xFFu);
    bytes[1] = (uint8_t)((word >> 8) & 0xFFu);
    bytes[2] = (uint8_t)((word >> 16) & 0xFFu);
    bytes[3] = (uint8_t)(word >> 24);
#else
    (void)memcpy(to, &word, sizeof word);
#endif
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_low_half(uint32_t word)
{
    return (int16_t)(uint16_t)(word & 0xFFFFu);
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_high_half(uint32_t word)
{
    return (int16_t)(uint16_t)(word >> 16);
}

/* Sum modulo 2^32: what the multiply-accumulate instructions do. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_halves(int32_t lo, int32_t hi)
{
    return ((uint32_t)lo & 0xFFFFu) | ((uint32_t)hi << 16);
}

#if GLOWMCU_HAS_DSP
#define GLOWMCU_DSP_2(name, instruction)                                              \
    static GLOWMCU_ALWAYS_INLINE int32_t name(uint32_t x, uint32_t y)                 \
    {                                                                                 \
        int32_t result;                                                               \
        __asm__(instruction " %0, %1, %2" : "=r"(result) : "r"(x), "r"(y));           \
        return result;                                                                \
    }
#define GLOWMCU_DSP_3(name, instruction)                                              \
    static GLOWMCU_ALWAYS_INLINE int32_t name(uint32_t x, uint32_t y, int32_t sum)    \
    {                                                                                 \
        int32_t result;                                                               \
        __asm__(instruction " %0, %1, %2, %3"                                         \
            : "=r"(result) : "r"(x), "r"(y), "r"(sum));                               \
        return result;                                                                \
    }
#else
#define GLOWMCU_PRODUCT(x, xh, y, yh) (glowmcu_##xh##_half(x) * glowmcu_##yh##_half(y))
#endif

/* {byte 0, byte 2} as halves. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_sxtb16(uint32_t word)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("sxtb16 %0, %1" : "=r"(result) : "r"(word));
    return result;
#else
    return glowmcu_halves((int8_t)(uint8_t)(word & 0xFFu), (int8_t)(uint8_t)((word >> 16) & 0xFFu));
#endif
}

/* {byte 1, byte 3} as halves. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_sxtb16_ror8(uint32_t word)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(word));
    return result;
#else
    return glowmcu_sxtb16(word >> 8);
#endif
}

/* Halves of `sums` plus {byte 0, byte 2}, each modulo 2^16. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_sxtab16(uint32_t sums, uint32_t word)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("sxtab16 %0, %1, %2" : "=r"(result) : "r"(sums), "r"(word));
    return result;
#else
    const uint32_t x = glowmcu_sxtb16(word);

    return ((sums + x) & 0xFFFFu) | ((sums & 0xFFFF0000u) + (x & 0xFFFF0000u));
#endif
}

/* Halves of `sums` plus {byte 1, byte 3}, each modulo 2^16. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_sxtab16_ror8(uint32_t sums, uint32_t word)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(result) : "r"(sums), "r"(word));
    return result;
#else
    return glowmcu_sxtab16(sums, word >> 8);
#endif
}

/* The larger int8 of each pair of bytes. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_max_bytes(uint32_t x, uint32_t y)
{
    uint32_t result;
#if GLOWMCU_HAS_DSP
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(result) : "r"(x), "r"(y) : "cc");
#else
    result = 0;
    for (uint32_t at = 0; at < 32u; at += 8u) {
        const uint32_t a = (x >> at) & 0xFFu;
        const uint32_t b = (y >> at) & 0xFFu;
        result |= (((a ^ 0x80u) >= (b ^ 0x80u)) ? a : b) << at;
    }
#endif
    return result;
}

/* The smaller int8 of each pair of bytes. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_min_bytes(uint32_t x, uint32_t y)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(result) : "r"(x), "r"(y) : "cc");
    return result;
#else
    return ~glowmcu_max_bytes(~x, ~y);
#endif
}

/* The low bytes of four numbers, `a` lowest. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pack_bytes(int32_t a, int32_t b, int32_t c,
    int32_t d)
{
#if GLOWMCU_HAS_DSP
    __asm__("bfi %0, %1, #8, #8" : "+r"(a) : "r"(b));
    __asm__("bfi %0, %1, #16, #8" : "+r"(a) : "r"(c));
    __asm__("bfi %0, %1, #24, #8" : "+r"(a) : "r"(d));
    return (uint32_t)a;
#else
    return ((uint32_t)a & 0xFFu) | (((uint32_t)b & 0xFFu) << 8) | (((uint32_t)c & 0xFFu) << 16)
        | ((uint32_t)d << 24);
#endif
}

/* {lo of a, lo of b}. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pack_low(uint32_t a, uint32_t b)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return (a & 0xFFFFu) | (b << 16);
#endif
}

/* {hi of a, hi of b}. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pack_high(uint32_t a, uint32_t b)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(result) : "r"(b), "r"(a));
    return result;
#else
    return (a >> 16) | (b & 0xFFFF0000u);
#endif
}

/* Products of halves, summed modulo 2^32. */
#if GLOWMCU_HAS_DSP
GLOWMCU_DSP_2(glowmcu_smuad, "smuad")     /* x.lo * y.lo + x.hi * y.hi */
GLOWMCU_DSP_3(glowmcu_smlad, "smlad")     /* sum + x.lo * y.lo + x.hi * y.hi */
GLOWMCU_DSP_3(glowmcu_smlabb, "smlabb")   /* sum + x.lo * y.lo */
GLOWMCU_DSP_3(glowmcu_smlabt, "smlabt")   /* sum + x.lo * y.hi */
GLOWMCU_DSP_3(glowmcu_smlatb, "smlatb")   /* sum + x.hi * y.lo */
GLOWMCU_DSP_3(glowmcu_smlatt, "smlatt")   /* sum + x.hi * y.hi */
#else
GLOWMCU_CODE
static inline int32_t glowmcu_smlabb(uint32_t x, uint32_t y, int32_t sum)
{
    return glowmcu_wrapping_add(sum, GLOWMCU_PRODUCT(x, low, y, low));
}

GLOWMCU_CODE
static inline int32_t glowmcu_smlabt(uint32_t x, uint32_t y, int32_t sum)
{
    return glowmcu_wrapping_add(sum, GLOWMCU_PRODUCT(x, low, y, high));
}

GLOWMCU_CODE
static inline int32_t glowmcu_smlatb(uint32_t x, uint32_t y, int32_t sum)
{
    return glowmcu_wrapping_add(sum, GLOWMCU_PRODUCT(x, high, y, low));
}

GLOWMCU_CODE
static inline int32_t glowmcu_smlatt(uint32_t x, uint32_t y, int32_t sum)
{
    return glowmcu_wrapping_add(sum, GLOWMCU_PRODUCT(x, high, y, high));
}

GLOWMCU_CODE
static inline int32_t glowmcu_smlad(uint32_t x, uint32_t y, int32_t sum)
{
    return glowmcu_smlatt(x, y, glowmcu_smlabb(x, y, sum));
}

GLOWMCU_CODE
static inline int32_t glowmcu_smuad(uint32_t x, uint32_t y)
{
    return glowmcu_smlad(x, y, 0);
}
#endif

/* High word of a * b, rounded down. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_smmul(int32_t a, int32_t b)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("smmul %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return (int32_t)(((int64_t)a * b) >> 32);
#endif
}

/* c + high word of a * b, rounded down. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_smmla(int32_t a, int32_t b, int32_t c)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("smmla %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
#else
    return glowmcu_wrapping_add(c, glowmcu_smmul(a, b));
#endif
}

/* c + high word of a * b, rounded to nearest, halves up. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_smmlar(int32_t a, int32_t b, int32_t c)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
#else
    return glowmcu_wrapping_add(c, (int32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32));
#endif
}

/* sum + the high 32 of the 48 bits of x * y.lo, rounded down. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_smlawb(int32_t x, uint32_t y, int32_t sum)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("smlawb %0, %1, %2, %3" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
    return result;
#else
    return glowmcu_wrapping_add(sum, (int32_t)(((int64_t)x * glowmcu_low_half(y)) >> 16));
#endif
}

/* x clamped to int8. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_saturate_s8(int32_t x)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(x));
    return result;
#else
    return (x < -128) ? -128 : ((x > 127) ? 127 : x);
#endif
}

/* (x >> shift) clamped to int8; `shift` in [1, 31] must be a constant. */
#if GLOWMCU_HAS_DSP
#define GLOWMCU_SATURATE_S8_ASR(result, x, shift) \
    __asm__("ssat %0, #8, %1, asr %2" : "=r"(result) : "r"(x), "I"(shift))
#else
#define GLOWMCU_SATURATE_S8_ASR(result, x, shift) ((result) = glowmcu_saturate_s8((x) >> (shift)))
#endif

#endif /* GLOWMCU_DSP_H */

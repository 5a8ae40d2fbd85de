/*
 * glowmcu_complex_s16.h: complex numbers in Q15, a pair of int16 in memory: real, imaginary part.
 *
 * With the DSP extension a number is a word, the real part in its low half, and most functions are
 * an instruction; elsewhere it is two integers. Sums wrap; products are rounded, halves up.
 */
#ifndef GLOWMCU_COMPLEX_S16_H
#define GLOWMCU_COMPLEX_S16_H

#include "glowmcu_dsp.h"

#define GLOWMCU_Q15_HALF 16384

#if GLOWMCU_HAS_DSP
typedef uint32_t glowmcu_c16;

#define GLOWMCU_COMPLEX_2(name, instruction)                                                 \
    static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_##name(glowmcu_c16 a, glowmcu_c16 b) \
    {                                                                                        \
        glowmcu_c16 result;                                                                  \
        __asm__(instruction " %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));                  \
        return result;                                                                       \
    }
GLOWMCU_COMPLEX_2(add, "sadd16")
GLOWMCU_COMPLEX_2(sub, "ssub16")
GLOWMCU_COMPLEX_2(add_left, "sasx")      /* a + i * b */
GLOWMCU_COMPLEX_2(add_right, "ssax")     /* a - i * b */
GLOWMCU_COMPLEX_2(half_sum, "shadd16")   /* (a + b) / 2, rounded down */
GLOWMCU_COMPLEX_2(half_apart, "shsub16") /* (a - b) / 2, rounded down */

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_load(const int16_t *from)
{
    return glowmcu_load_word(from);
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_c16_store(int16_t *to, glowmcu_c16 z)
{
    glowmcu_store_word(to, z);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_of(int32_t re, int32_t im)
{
    return glowmcu_halves(re, im);
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c16_re(glowmcu_c16 z)
{
    return glowmcu_low_half(z);
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c16_im(glowmcu_c16 z)
{
    return glowmcu_high_half(z);
}

/* Bits 15 to 30 of two sums of products. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_narrowed(int32_t re, int32_t im)
{
    glowmcu_c16 result;

    re >>= 15;
    __asm__("pkhbt %0, %1, %2, lsl #1" : "=r"(result) : "r"(re), "r"(im));
    return result;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_mul(glowmcu_c16 a, glowmcu_c16 b)
{
    int32_t re;
    int32_t im;

    __asm__("smlsd %0, %1, %2, %3" : "=r"(re) : "r"(a), "r"(b), "r"(GLOWMCU_Q15_HALF));
    __asm__("smladx %0, %1, %2, %3" : "=r"(im) : "r"(a), "r"(b), "r"(GLOWMCU_Q15_HALF));
    return glowmcu_c16_narrowed(re, im);
}

/* Times a real number. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_scaled(glowmcu_c16 z, int32_t by)
{
    return glowmcu_c16_narrowed(glowmcu_smlabb(z, (uint32_t)by, GLOWMCU_Q15_HALF),
        glowmcu_smlatb(z, (uint32_t)by, GLOWMCU_Q15_HALF));
}

/* The real part of `re` and the imaginary part of `im`. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_mixed(glowmcu_c16 re, glowmcu_c16 im)
{
    glowmcu_c16 result;

    __asm__("pkhbt %0, %1, %2" : "=r"(result) : "r"(re), "r"(im));
    return result;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_conjugate(glowmcu_c16 z)
{
    return glowmcu_c16_mixed(z, glowmcu_c16_sub(0u, z));
}
#else
/* Modulo 2^16: sums are not cut before somebody looks at more than these bits. */
typedef struct {
    int32_t re;
    int32_t im;
} glowmcu_c16;

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c16_cut(int32_t x)
{
    return (int16_t)(uint16_t)((uint32_t)x & 0xFFFFu);
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c16_re(glowmcu_c16 z)
{
    return glowmcu_c16_cut(z.re);
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c16_im(glowmcu_c16 z)
{
    return glowmcu_c16_cut(z.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_of(int32_t re, int32_t im)
{
    glowmcu_c16 z;

    z.re = re;
    z.im = im;
    return z;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_load(const int16_t *from)
{
    return glowmcu_c16_of(from[0], from[1]);
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_c16_store(int16_t *to, glowmcu_c16 z)
{
    to[0] = (int16_t)glowmcu_c16_re(z);
    to[1] = (int16_t)glowmcu_c16_im(z);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_add(glowmcu_c16 a, glowmcu_c16 b)
{
    return glowmcu_c16_of(a.re + b.re, a.im + b.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_sub(glowmcu_c16 a, glowmcu_c16 b)
{
    return glowmcu_c16_of(a.re - b.re, a.im - b.im);
}

/* a + i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_add_left(glowmcu_c16 a, glowmcu_c16 b)
{
    return glowmcu_c16_of(a.re - b.im, a.im + b.re);
}

/* a - i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_add_right(glowmcu_c16 a, glowmcu_c16 b)
{
    return glowmcu_c16_of(a.re + b.im, a.im - b.re);
}

/* (a + b) / 2, rounded down */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_half_sum(glowmcu_c16 a, glowmcu_c16 b)
{
    return glowmcu_c16_of((glowmcu_c16_re(a) + glowmcu_c16_re(b)) >> 1,
        (glowmcu_c16_im(a) + glowmcu_c16_im(b)) >> 1);
}

/* (a - b) / 2, rounded down */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_half_apart(glowmcu_c16 a, glowmcu_c16 b)
{
    return glowmcu_c16_of((glowmcu_c16_re(a) - glowmcu_c16_re(b)) >> 1,
        (glowmcu_c16_im(a) - glowmcu_c16_im(b)) >> 1);
}

/* Products of int16 and Q15 below 1: a sum of two and a half stays below 2^31. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_mul(glowmcu_c16 a, glowmcu_c16 b)
{
    const int32_t re = glowmcu_c16_re(a);
    const int32_t im = glowmcu_c16_im(a);

    return glowmcu_c16_of((re * b.re - im * b.im + GLOWMCU_Q15_HALF) >> 15,
        (re * b.im + im * b.re + GLOWMCU_Q15_HALF) >> 15);
}

/* Times a real number. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_scaled(glowmcu_c16 z, int32_t by)
{
    return glowmcu_c16_of((glowmcu_c16_re(z) * by + GLOWMCU_Q15_HALF) >> 15,
        (glowmcu_c16_im(z) * by + GLOWMCU_Q15_HALF) >> 15);
}

/* The real part of `re` and the imaginary part of `im`. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_mixed(glowmcu_c16 re, glowmcu_c16 im)
{
    return glowmcu_c16_of(re.re, im.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_conjugate(glowmcu_c16 z)
{
    return glowmcu_c16_of(z.re, -z.im);
}
#endif

/* Half of each part, rounded down. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c16 glowmcu_c16_half(glowmcu_c16 z)
{
    return glowmcu_c16_half_sum(z, glowmcu_c16_of(0, 0));
}

#endif /* GLOWMCU_COMPLEX_S16_H */

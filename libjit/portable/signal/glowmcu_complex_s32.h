/*
 * glowmcu_complex_s32.h: complex numbers in Q31, a pair of int32 in memory: real, imaginary part.
 *
 * Sums wrap; products are rounded, halves up.
 */
#ifndef GLOWMCU_COMPLEX_S32_H
#define GLOWMCU_COMPLEX_S32_H

#include "glowmcu_base.h"

typedef struct {
    int32_t re;
    int32_t im;
} glowmcu_c32;

static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_of(int32_t re, int32_t im)
{
    glowmcu_c32 z;

    z.re = re;
    z.im = im;
    return z;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_load(const int32_t *from)
{
    return glowmcu_c32_of(from[0], from[1]);
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_c32_store(int32_t *to, glowmcu_c32 z)
{
    to[0] = z.re;
    to[1] = z.im;
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c32_re(glowmcu_c32 z)
{
    return z.re;
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_c32_im(glowmcu_c32 z)
{
    return z.im;
}

/* Sums and differences modulo 2^32. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_q31_plus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_q31_minus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* A sum of products back to Q31, modulo 2^32. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_q31_rounded(int64_t sum)
{
    return (int32_t)(uint32_t)((uint64_t)((sum + 0x40000000) >> 31) & 0xFFFFFFFFu);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_add(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_of(glowmcu_q31_plus(a.re, b.re), glowmcu_q31_plus(a.im, b.im));
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_sub(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_of(glowmcu_q31_minus(a.re, b.re), glowmcu_q31_minus(a.im, b.im));
}

/* a + i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_add_left(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_of(glowmcu_q31_minus(a.re, b.im), glowmcu_q31_plus(a.im, b.re));
}

/* a - i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_add_right(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_of(glowmcu_q31_plus(a.re, b.im), glowmcu_q31_minus(a.im, b.re));
}

/* Products of int32 and Q31 below 1: a sum of two and a half stays below 2^63. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_mul(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_of(
        glowmcu_q31_rounded((int64_t)a.re * b.re - (int64_t)a.im * b.im),
        glowmcu_q31_rounded((int64_t)a.re * b.im + (int64_t)a.im * b.re));
}

/* Times a real number. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_scaled(glowmcu_c32 z, int32_t by)
{
    return glowmcu_c32_of(
        glowmcu_q31_rounded((int64_t)z.re * by), glowmcu_q31_rounded((int64_t)z.im * by));
}

/* The real part of `re` and the imaginary part of `im`. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_mixed(glowmcu_c32 re, glowmcu_c32 im)
{
    return glowmcu_c32_of(re.re, im.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_conjugate(glowmcu_c32 z)
{
    return glowmcu_c32_of(z.re, glowmcu_q31_minus(0, z.im));
}

/* Half of each part, rounded down. */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_half(glowmcu_c32 z)
{
    return glowmcu_c32_of(z.re >> 1, z.im >> 1);
}

/* (a + b) / 2, rounded down */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_half_sum(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_half(glowmcu_c32_add(a, b));
}

/* (a - b) / 2, rounded down */
static GLOWMCU_ALWAYS_INLINE glowmcu_c32 glowmcu_c32_half_apart(glowmcu_c32 a, glowmcu_c32 b)
{
    return glowmcu_c32_half(glowmcu_c32_sub(a, b));
}

#endif /* GLOWMCU_COMPLEX_S32_H */

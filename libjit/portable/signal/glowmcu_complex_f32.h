/*
 * glowmcu_complex_f32.h: complex numbers of float, a pair in memory: real, imaginary part.
 *
 * Each product and sum is rounded by itself, in the order written.
 */
#ifndef GLOWMCU_COMPLEX_F32_H
#define GLOWMCU_COMPLEX_F32_H

#include "glowmcu_base.h"

typedef struct {
    float re;
    float im;
} glowmcu_cf32;

static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_of(float re, float im)
{
    glowmcu_cf32 z;

    z.re = re;
    z.im = im;
    return z;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_load(const float *from)
{
    return glowmcu_cf32_of(from[0], from[1]);
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_cf32_store(float *to, glowmcu_cf32 z)
{
    to[0] = z.re;
    to[1] = z.im;
}

static GLOWMCU_ALWAYS_INLINE float glowmcu_cf32_re(glowmcu_cf32 z)
{
    return z.re;
}

static GLOWMCU_ALWAYS_INLINE float glowmcu_cf32_im(glowmcu_cf32 z)
{
    return z.im;
}

static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_add(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_of(a.re + b.re, a.im + b.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_sub(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_of(a.re - b.re, a.im - b.im);
}

/* a + i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_add_left(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_of(a.re - b.im, a.im + b.re);
}

/* a - i * b */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_add_right(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_of(a.re + b.im, a.im - b.re);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_mul(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/* Times a real number. */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_scaled(glowmcu_cf32 z, float by)
{
    return glowmcu_cf32_of(z.re * by, z.im * by);
}

/* The real part of `re` and the imaginary part of `im`. */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_mixed(glowmcu_cf32 re, glowmcu_cf32 im)
{
    return glowmcu_cf32_of(re.re, im.im);
}

static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_conjugate(glowmcu_cf32 z)
{
    return glowmcu_cf32_of(z.re, -z.im);
}

/* Half of each part. */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_half(glowmcu_cf32 z)
{
    return glowmcu_cf32_of(z.re * 0.5f, z.im * 0.5f);
}

/* (a + b) / 2 */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_half_sum(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_half(glowmcu_cf32_add(a, b));
}

/* (a - b) / 2 */
static GLOWMCU_ALWAYS_INLINE glowmcu_cf32 glowmcu_cf32_half_apart(glowmcu_cf32 a, glowmcu_cf32 b)
{
    return glowmcu_cf32_half(glowmcu_cf32_sub(a, b));
}

#endif /* GLOWMCU_COMPLEX_F32_H */

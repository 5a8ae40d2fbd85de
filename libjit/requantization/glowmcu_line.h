/*
 * glowmcu_line.h: int8 add and sub of two elements where one line of int32 arithmetic gives the
 * literal result; the compiler has checked every pair of operands.
 */
#ifndef GLOWMCU_LINE_H
#define GLOWMCU_LINE_H

#include "glowmcu_base.h"

#define GLOWMCU_LINE_SHIFT 22

typedef struct {
    int32_t p;
    int32_t q;
    int32_t c; /* |c + a * p| and |c + a * p + b * q| < 2^31 */
} glowmcu_line;

/* saturate(sum >> 22) */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_line_out(int32_t sum)
{
    int32_t out;
#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__) && !defined(GLOWMCU_PORTABLE)
    __asm__("ssat %0, #8, %1, asr #22" : "=r"(out) : "r"(sum));
#else
    out = sum >> GLOWMCU_LINE_SHIFT;
    if ((uint32_t)(out + 128) > 255u) { /* one comparison where nothing saturates */
        out = (out < 0) ? -128 : 127;
    }
#endif
    return out;
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_line_one(const glowmcu_line *l, int32_t a, int32_t b)
{
    return glowmcu_line_out(l->c + a * l->p + b * l->q);
}

#endif /* GLOWMCU_LINE_H */

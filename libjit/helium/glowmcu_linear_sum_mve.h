/*
 * glowmcu_linear_sum_mve.h: int8 add and sub of whole tensors where one line of int32 arithmetic
 * gives the literal result; the compiler has checked every pair of operands. Four a vector.
 */
#ifndef GLOWMCU_LINEAR_SUM_MVE_H
#define GLOWMCU_LINEAR_SUM_MVE_H

#include "glowmcu_broadcast.h"
#include "glowmcu_mve.h"

#define GLOWMCU_LINEAR_SUM_MVE_SHIFT 22

typedef struct {
    int32_t p;
    int32_t q;
    int32_t c; /* |c + a * p| and |c + a * p + b * q| < 2^31 */
    glowmcu_walk walk;
} glowmcu_linear_sum_mve;

#if GLOWMCU_HAS_MVE
/* Saturated results in the lowest byte of each lane: |sum >> 22| <= 2^9 is in its lower half. */
static GLOWMCU_ALWAYS_INLINE int32x4_t glowmcu_linear_sum_mve_four(int32x4_t a, int32x4_t b,
    int32x4_t p, int32_t q, int32_t c)
{
    const int32x4_t sum = vmlaq_n_s32(vmlasq_n_s32(a, p, c), b, q);
    const int32x4_t out = vshrq_n_s32(sum, GLOWMCU_LINEAR_SUM_MVE_SHIFT);

    return vreinterpretq_s32_s8(
        vqmovnbq_s16(vreinterpretq_s8_s32(out), vreinterpretq_s16_s32(out)));
}

/*
 * Twice four results, `eights` times, at least once; moves all pointers. In assembly for its order:
 * sums become results while the next four are made, those of a turn's last four in the next turn.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_linear_sum_mve_eights(const glowmcu_linear_sum_mve *s,
    const int8_t **a, const int8_t **b, int8_t **out, int32_t eights)
{
    __asm__ volatile(
        "   vdup.32     q3, %5\n"
        "   vldrb.s32   q0, [%0], #4\n"
        "   vmlas.s32   q0, q3, %4\n"
        "   vldrb.s32   q2, [%1], #4\n"
        "   vmla.s32    q0, q2, %6\n"
        "   wls         lr, %3, 2f\n"
        "1: vshr.s32    q0, q0, #22\n"
        "   vldrb.s32   q1, [%0], #4\n"
        "   vqmovnb.s16 q0, q0\n"
        "   vldrb.s32   q2, [%1], #4\n"
        "   vmlas.s32   q1, q3, %4\n"
        "   vstrb.32    q0, [%2], #4\n"
        "   vmla.s32    q1, q2, %6\n"
        "   vldrb.s32   q0, [%0], #4\n"
        "   vshr.s32    q1, q1, #22\n"
        "   vldrb.s32   q2, [%1], #4\n"
        "   vmlas.s32   q0, q3, %4\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vmla.s32    q0, q2, %6\n"
        "   vstrb.32    q1, [%2], #4\n"
        "   le          lr, 1b\n"
        "2: vshr.s32    q0, q0, #22\n"
        "   vldrb.s32   q1, [%0], #4\n"
        "   vqmovnb.s16 q0, q0\n"
        "   vldrb.s32   q2, [%1], #4\n"
        "   vmlas.s32   q1, q3, %4\n"
        "   vstrb.32    q0, [%2], #4\n"
        "   vmla.s32    q1, q2, %6\n"
        "   vshr.s32    q1, q1, #22\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vstrb.32    q1, [%2], #4\n"
        : "+l"(*a), "+l"(*b), "+l"(*out)
        : "r"(eights - 1), "r"(s->c), "r"(s->p), "r"(s->q)
        : "lr", "q0", "q1", "q2", "q3", "memory");
}
#endif

GLOWMCU_CODE
static inline void glowmcu_linear_sum_mve_run(const void *parameters, const glowmcu_walk *walk,
    const int8_t *a, const int8_t *b, int8_t *out)
{
    const glowmcu_linear_sum_mve *s = (const glowmcu_linear_sum_mve *)parameters;
    const int32_t q = s->q;
    const int32_t c = s->c;
#if GLOWMCU_HAS_MVE
    const int32x4_t p = vdupq_n_s32(s->p);
    const mve_pred16_t rest = vctp32q((uint32_t)walk->run & 3u);

    if (walk->run >= 8) {
        glowmcu_linear_sum_mve_eights(s, &a, &b, &out, walk->run >> 3);
    }
    if ((walk->run & 4) != 0) {
        vstrbq_s32(out, glowmcu_linear_sum_mve_four(vldrbq_s32(a), vldrbq_s32(b), p, q, c));
        a += 4;
        b += 4;
        out += 4;
    }
    vstrbq_p_s32(out, glowmcu_linear_sum_mve_four(vldrbq_z_s32(a, rest), vldrbq_z_s32(b, rest), p,
        q, c), rest);
#else
    for (int32_t i = 0; i < walk->run; ++i) {
        const int32_t sum = (c + a[i] * s->p + b[i] * q) >> GLOWMCU_LINEAR_SUM_MVE_SHIFT;
        out[i] = (int8_t)((sum < -128) ? -128 : ((sum > 127) ? 127 : sum));
    }
#endif
}

/*
 * saturate((a * p + b * q + c) >> 22). Shapes as `p->walk` says: both operands step along its runs.
 * `out` may be the same memory as an operand with as many elements.
 */
GLOWMCU_CODE
static void glowmcu_linear_sum_mve_s8(const glowmcu_linear_sum_mve *p, const int8_t *a,
    const int8_t *b, int8_t *out)
{
    glowmcu_broadcast_runs_s8(glowmcu_linear_sum_mve_run, p, &p->walk, a, b, out);
}

#endif /* GLOWMCU_LINEAR_SUM_MVE_H */

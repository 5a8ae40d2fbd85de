/*
 * glowmcu_linear_sum_dsp.h: int8 add and sub of whole tensors where one line of integer arithmetic
 * gives the literal result; the compiler has checked every pair of operands. Four elements a word.
 */
#ifndef GLOWMCU_LINEAR_SUM_DSP_H
#define GLOWMCU_LINEAR_SUM_DSP_H

#include "glowmcu_broadcast.h"
#include "glowmcu_dsp.h"

#define GLOWMCU_LINEAR_SUM_DSP_SHIFT 20

typedef struct {
    int32_t p;
    int32_t q;
    int32_t c; /* no sum on the way exceeds 2^31 */
    glowmcu_walk walk;
} glowmcu_linear_sum_dsp;

#if GLOWMCU_HAS_DSP
/*
 * Four elements at `at`: times 2^8 as halves 1 and 3 are where they must be, 0 and 2 move up.
 * r4 p, r5 q, r6 c, r7 0xFF00FF00, r2 a, r3 b, r12 out.
 */
#define GLOWMCU_LINEAR_SUM_WORD(at)            \
    "ldr r8, [r2, #" at "]\n\t"                \
    "ldr r9, [r3, #" at "]\n\t"                \
    "and r10, r7, r8, lsl #8\n\t"             \
    "and r11, r7, r9, lsl #8\n\t"             \
    "and r8, r7, r8\n\t"                      \
    "and r9, r7, r9\n\t"                      \
    "smlawb r0, r4, r10, r6\n\t"              \
    "smlawt r10, r4, r10, r6\n\t"             \
    "smlawb lr, r4, r8, r6\n\t"               \
    "smlawt r8, r4, r8, r6\n\t"               \
    "smlawb r0, r5, r11, r0\n\t"              \
    "smlawt r10, r5, r11, r10\n\t"            \
    "smlawb lr, r5, r9, lr\n\t"               \
    "smlawt r8, r5, r9, r8\n\t"               \
    "ssat r0, #8, r0, asr #20\n\t"            \
    "ssat lr, #8, lr, asr #20\n\t"            \
    "ssat r10, #8, r10, asr #20\n\t"          \
    "ssat r8, #8, r8, asr #20\n\t"            \
    "bfi r0, lr, #8, #8\n\t"                  \
    "bfi r0, r10, #16, #8\n\t"                \
    "bfi r0, r8, #24, #8\n\t"                 \
    "str r0, [r12, #" at "]\n\t"

/* `words` times four elements; the compiler would spill what this keeps in registers. */
/* stack: 36 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_linear_sum_dsp_words(
    const glowmcu_linear_sum_dsp *s GLOWMCU_UNUSED,
    int32_t words GLOWMCU_UNUSED, const int8_t *a GLOWMCU_UNUSED,
    const int8_t *b GLOWMCU_UNUSED, int8_t *out GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "push {r4-r11, lr}\n\t"
        "ldr r12, [sp, #36]\n\t"
        "ldm r0, {r4-r6}\n\t"
        "mov r7, #0xFF00FF00\n\t"
        "cmp r1, #0\n\t"
        "ble 3f\n\t"
        "tst r1, #1\n\t"
        "beq 1f\n\t"
        "sub r2, r2, #4\n\t" /* an odd count begins with the second word of a turn */
        "sub r3, r3, #4\n\t"
        "sub r12, r12, #4\n\t"
        "add r1, r1, #1\n\t"
        "b 2f\n\t"
        "1:\n\t"
        GLOWMCU_LINEAR_SUM_WORD("0")
        "2:\n\t"
        GLOWMCU_LINEAR_SUM_WORD("4")
        "add r2, r2, #8\n\t"
        "add r3, r3, #8\n\t"
        "add r12, r12, #8\n\t"
        "subs r1, r1, #2\n\t"
        "bgt 1b\n\t"
        "3:\n\t"
        "pop {r4-r11, pc}\n\t");
}
#endif

GLOWMCU_CODE
static inline void glowmcu_linear_sum_dsp_run(const void *parameters, const glowmcu_walk *walk,
    const int8_t *a, const int8_t *b, int8_t *out)
{
    const glowmcu_linear_sum_dsp *s = (const glowmcu_linear_sum_dsp *)parameters;
    const int32_t run = walk->run;
    const int32_t step_a = walk->step_a;
    const int32_t step_b = walk->step_b;
    int32_t i = 0;

#if GLOWMCU_HAS_DSP
    if (step_a == 1 && step_b == 1) {
        glowmcu_linear_sum_dsp_words(s, run >> 2, a, b, out);
        i = run & ~(int32_t)3;
    }
#endif
    for (; i < run; ++i) {
        const int32_t sum = glowmcu_smlawb(s->p, (uint32_t)a[i * step_a] << 8, s->c);
        int32_t result = glowmcu_smlawb(s->q, (uint32_t)b[i * step_b] << 8, sum);
        GLOWMCU_SATURATE_S8_ASR(result, result, GLOWMCU_LINEAR_SUM_DSP_SHIFT);
        out[i] = (int8_t)result;
    }
}

/*
 * saturate(((a * p >> 8) + (b * q >> 8) + c) >> 20). Shapes as `p->walk` says. `out` may be the
 * same memory as an operand with as many elements.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_linear_sum_dsp_s8(const glowmcu_linear_sum_dsp *p, const int8_t *a,
    const int8_t *b, int8_t *out)
{
    glowmcu_broadcast_runs_s8(glowmcu_linear_sum_dsp_run, p, &p->walk, a, b, out);
}

#endif /* GLOWMCU_LINEAR_SUM_DSP_H */

/*
 * glowmcu_matrix_mve.h: rows of int8 times a packed int8 matrix, to int8; for 1x1 convolutions,
 * fully connected layers and, on gathered windows, all convolutions.
 *
 * Two rows and four channels at a time: each of 6 loaded vectors of 16 serves 8
 * multiply-accumulates together, and the eight sums fill the even registers, where VMLADAVA wants
 * them.
 */
#ifndef GLOWMCU_MATRIX_MVE_H
#define GLOWMCU_MATRIX_MVE_H

#include "glowmcu_scale_mve.h"

/* The pair function below reads this struct by offsets. */
typedef struct {
    int32_t depth;    /* bytes of a row, a multiple of 16 */
    int32_t channels; /* results a row */
    glowmcu_scale_mve scale;
    /*
     * For four channels after four channels: weights [depth / 16][4][16] of int8, then constants of
     * the scale. Channels beyond the last have weights and constants 0.
     */
    const int32_t *stream;
} glowmcu_matrix_mve;

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_matrix_mve, depth) == 0, depth_is_first);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_matrix_mve, channels) == 4, channels_are_second);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_matrix_mve, scale.preshift) == 8, preshift_is_third);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_matrix_mve, scale.clamp_min) == 12, clamp_min_is_fourth);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_matrix_mve, scale.clamp_max) == 16, clamp_max_is_fifth);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_matrix_mve, stream) == 20, stream_is_sixth);

/*
 * Rows `x` and `x + depth` to `out` and `out + channels`. In assembly because eight sums in even
 * registers leave the compiler too few for the pointers: its loop is 1.5 times as long. A turn
 * of the loop takes 32 bytes of both rows, since no register is left that LE could count in.
 *
 * r1, r3 rows; r5 stream; r7 out; r9 turns left; r11 channels left; sums in r0 r2 r4 r6 of the
 * first row, r8 r10 r12 lr of the second. On the stack, for LDM: depth, channels, preshift, blocks
 * of 16 bytes but the first and the last, and the struct.
 */
/* stack: 56 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_matrix_mve_pair(
    const glowmcu_matrix_mve *p GLOWMCU_UNUSED, const int8_t *x GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r0, r4-r11, lr}\n"
        "   ldrd        r4, r6, [r0, #0]\n"
        "   ldr         r8, [r0, #8]\n"
        "   ldr         r5, [r0, #20]\n"
        "   lsr         r9, r4, #4\n"
        "   sub         r9, r9, #2\n"
        "   push        {r4, r6, r8, r9}\n"
        "   add         r3, r1, r4\n"
        "   mov         r7, r2\n"
        "   mov         r11, r6\n"
        "1: vldrb.8     q0, [r1], #16\n"        /* four channels: the first 16 bytes */
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladav.s8  r0, q0, q2\n"
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladav.s8  r8, q1, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladav.s8  r2, q0, q3\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladav.s8  r10, q1, q3\n"
        "   vmladav.s8  r4, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladav.s8  r12, q1, q2\n"
        "   vmladav.s8  r6, q0, q3\n"
        "   vmladav.s8  lr, q1, q3\n"
        "   asrs        r9, r9, #1\n"
        "   bmi         5f\n"
        "   vldrb.8     q0, [r1], #16\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   bcc         2f\n"                  /* one block here, if their number is odd */
        "   vmladava.s8 r0, q0, q2\n"
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladava.s8 r8, q1, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r2, q0, q3\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r10, q1, q3\n"
        "   vmladava.s8 r4, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r12, q1, q2\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r6, q0, q3\n"
        "   vldrb.8     q0, [r1], #16\n"
        "   vmladava.s8 lr, q1, q3\n"
        "2: beq         4f\n"
        "3: vmladava.s8 r0, q0, q2\n"           /* 32 bytes of both rows */
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladava.s8 r8, q1, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r10, q1, q3\n"
        "   vmladava.s8 r2, q0, q3\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r4, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r12, q1, q2\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r6, q0, q3\n"
        "   vldrb.8     q0, [r1], #16\n"
        "   vmladava.s8 lr, q1, q3\n"
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladava.s8 r0, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r10, q1, q3\n"
        "   vmladava.s8 r8, q1, q2\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r2, q0, q3\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r4, q0, q2\n"
        "   subs        r9, r9, #1\n"
        "   vmladava.s8 r12, q1, q2\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r6, q0, q3\n"
        "   vldrb.8     q0, [r1], #16\n"
        "   vmladava.s8 lr, q1, q3\n"
        "   bne         3b\n"
        "4: vmladava.s8 r0, q0, q2\n"           /* the last 16 bytes */
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladava.s8 r8, q1, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r2, q0, q3\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r10, q1, q3\n"
        "   vmladava.s8 r4, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r12, q1, q2\n"
        "   vmladava.s8 r6, q0, q3\n"
        "   vmladava.s8 lr, q1, q3\n"
        "5: vmov        q0[2], q0[0], r0, r4\n"
        "   vmov        q0[3], q0[1], r2, r6\n"
        "   vmov        q1[2], q1[0], r8, r12\n"
        "   vmov        q1[3], q1[1], r10, lr\n"
        "   ldm         sp, {r2, r4, r6, r9}\n"
        "   sub         r1, r1, r2\n"
        "   sub         r3, r3, r2\n"
        "   vldrw.32    q2, [r5], #16\n"
        "   add         r4, r7\n"
        "   vldrw.32    q3, [r5], #16\n"
        "   cmp         r6, #0\n"
        "   blt         6f\n"
        "   vshl.s32    q1, r6\n"               /* floor form */
        "   vadd.i32    q1, q1, q2\n"
        "   vmulh.s32   q1, q1, q3\n"
        "   vshl.s32    q0, r6\n"
        "   vadd.i32    q0, q0, q2\n"
        "   vmulh.s32   q0, q0, q3\n"
        "   vshrnb.i32  q1, q1, #16\n"
        "   vshrnb.i32  q0, q0, #16\n"
        "   vctp.32     r11\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vqmovnb.s16 q0, q0\n"
        "7: vpstt\n"
        "   vstrbt.32   q0, [r7], #4\n"
        "   vstrbt.32   q1, [r4]\n"
        "   subs        r11, r11, #4\n"
        "   bgt         1b\n"
        "   add         sp, sp, #20\n"
        "   pop         {r4-r11, pc}\n"
        "6: vadd.i32    q0, q0, q2\n"           /* literal form */
        "   vadd.i32    q1, q1, q2\n"
        "   vqrdmulh.s32 q2, q0, q3\n"
        "   vqrdmulh.s32 q3, q1, q3\n"
        "   vshr.s32    q0, q0, #31\n"
        "   vshr.s32    q1, q1, #31\n"
        "   vadd.i32    q0, q0, q2\n"
        "   vadd.i32    q1, q1, q3\n"
        "   vldrw.32    q2, [r5], #16\n"
        "   vldrw.32    q3, [r5], #16\n"
        "   vadd.i32    q0, q0, q2\n"
        "   vadd.i32    q1, q1, q2\n"
        "   vshl.s32    q0, q0, q3\n"
        "   vshl.s32    q1, q1, q3\n"
        "   ldr         r0, [sp, #16]\n"
        "   ldrd        r2, r6, [r0, #12]\n"    /* clamp */
        "   vdup.32     q2, r2\n"
        "   vdup.32     q3, r6\n"
        "   vmax.s32    q0, q0, q2\n"
        "   vmax.s32    q1, q1, q2\n"
        "   vmin.s32    q0, q0, q3\n"
        "   vmin.s32    q1, q1, q3\n"
        "   vctp.32     r11\n"
        "   b           7b\n");
}

/*
 * What follows the sums of eight channels of a row: results, and the next eight. The stack has the
 * depth, two words and the preshift between them, another one and the struct: `frame` bytes until
 * the registers that were pushed.
 */
#define GLOWMCU_MATRIX_MVE_EIGHT(frame) \
    "   vmov        q0[2], q0[0], r0, r4\n" \
    "   vmov        q0[3], q0[1], r2, r6\n" \
    "   vmov        q1[2], q1[0], r8, r12\n" \
    "   vmov        q1[3], q1[1], r10, lr\n" \
    "   ldr         r2, [sp]\n" \
    "   ldr         r6, [sp, #8]\n" \
    "   sub         r1, r1, r2\n" \
    "   cmp         r6, #0\n" \
    "   blt         5f\n" \
    "   vldrw.32    q2, [r5]\n" /* floor form */ \
    "   vshl.s32    q0, r6\n" \
    "   vldrw.32    q3, [r5, #16]\n" \
    "   vadd.i32    q0, q0, q2\n" \
    "   vldrw.32    q2, [r3], #16\n" \
    "   vshl.s32    q1, r6\n" \
    "   vmulh.s32   q0, q0, q3\n" \
    "   vldrw.32    q3, [r3], #16\n" \
    "   vadd.i32    q1, q1, q2\n" \
    "   vmulh.s32   q1, q1, q3\n" \
    "   vshrnb.i32  q0, q0, #16\n" \
    "   vshrnb.i32  q1, q1, #16\n" \
    "   vqmovnb.s16 q0, q0\n" \
    "   vqmovnb.s16 q1, q1\n" \
    "4: vctp.32     r11\n" \
    "   mov         r5, r3\n" \
    "   vpst\n" \
    "   vstrbt.32   q0, [r7], #4\n" \
    "   subs        r11, r11, #4\n" \
    "   ble         6f\n" \
    "   vctp.32     r11\n" \
    "   vpst\n" \
    "   vstrbt.32   q1, [r7], #4\n" \
    "   subs        r11, r11, #4\n" \
    "   bgt         1b\n" \
    "6: add         sp, sp, #" frame "\n" \
    "   pop         {r4-r11, pc}\n" \
    "5: vldrw.32    q2, [r5]\n" /* literal form */ \
    "   vldrw.32    q3, [r3], #16\n" \
    "   vadd.i32    q0, q0, q2\n" \
    "   vadd.i32    q1, q1, q3\n" \
    "   vldrw.32    q2, [r5, #16]\n" \
    "   vldrw.32    q3, [r3], #16\n" \
    "   vqrdmulh.s32 q2, q0, q2\n" \
    "   vqrdmulh.s32 q3, q1, q3\n" \
    "   vshr.s32    q0, q0, #31\n" \
    "   vshr.s32    q1, q1, #31\n" \
    "   vadd.i32    q0, q0, q2\n" \
    "   vadd.i32    q1, q1, q3\n" \
    "   vldrw.32    q2, [r5, #32]\n" \
    "   vldrw.32    q3, [r3], #16\n" \
    "   vadd.i32    q0, q0, q2\n" \
    "   vadd.i32    q1, q1, q3\n" \
    "   vldrw.32    q2, [r5, #48]\n" \
    "   vldrw.32    q3, [r3], #16\n" \
    "   vshl.s32    q0, q0, q2\n" \
    "   vshl.s32    q1, q1, q3\n" \
    "   ldr         r0, [sp, #16]\n" \
    "   ldrd        r2, r6, [r0, #12]\n" /* clamp */ \
    "   vdup.32     q2, r2\n" \
    "   vdup.32     q3, r6\n" \
    "   vmax.s32    q0, q0, q2\n" \
    "   vmax.s32    q1, q1, q2\n" \
    "   vmin.s32    q0, q0, q3\n" \
    "   vmin.s32    q1, q1, q3\n" \
    "   b           4b\n"

/*
 * One row, eight channels at a time: two groups of the stream side by side. Where only one group is
 * left it is read as both, and its second results are not stored.
 *
 * r1 row; r5, r3 the groups; r7 out; r9 blocks of 16 bytes left; r11 channels left; sums in r0 r2
 * r4 r6 of the first group, r8 r10 r12 lr of the second. On the stack, for LDM: depth, bytes of a
 * group, preshift, blocks, and the struct.
 */
/* stack: 56 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_matrix_mve_single(
    const glowmcu_matrix_mve *p GLOWMCU_UNUSED, const int8_t *x GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r0, r4-r11, lr}\n"
        "   ldrd        r4, r11, [r0, #0]\n"
        "   ldr         r8, [r0, #8]\n"
        "   ldr         r5, [r0, #20]\n"
        "   lsl         r6, r4, #2\n"
        "   add         r6, r6, #32\n"          /* two vectors of constants, or four */
        "   cmp         r8, #0\n"
        "   it          lt\n"
        "   addlt       r6, r6, #32\n"
        "   lsr         r9, r4, #4\n"
        "   push        {r4, r6, r8, r9}\n"
        "   mov         r7, r2\n"
        "1: ldm         sp, {r2, r4, r6, r9}\n" /* eight channels */
        "   mov         r3, r5\n"
        "   cmp         r11, #4\n"
        "   it          gt\n"
        "   addgt       r3, r5, r4\n"
        "   vldrb.8     q0, [r1], #16\n"
        "   vldrb.8     q1, [r5], #16\n"
        "   vmladav.s8  r0, q0, q1\n"
        "   vldrb.8     q2, [r3], #16\n"
        "   vmladav.s8  r8, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladav.s8  r2, q0, q3\n"
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladav.s8  r10, q0, q1\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladav.s8  r4, q0, q2\n"
        "   vldrb.8     q3, [r3], #16\n"
        "   vmladav.s8  r12, q0, q3\n"
        "   vldrb.8     q1, [r5], #16\n"
        "   vmladav.s8  r6, q0, q1\n"
        "   vldrb.8     q2, [r3], #16\n"
        "   vmladav.s8  lr, q0, q2\n"
        "   subs        r9, r9, #1\n"
        "   beq         3f\n"
        "2: vldrb.8     q0, [r1], #16\n"        /* 16 bytes */
        "   subs        r9, r9, #1\n"
        "   vldrb.8     q1, [r5], #16\n"
        "   vmladava.s8 r0, q0, q1\n"
        "   vldrb.8     q2, [r3], #16\n"
        "   vmladava.s8 r8, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vmladava.s8 r2, q0, q3\n"
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladava.s8 r10, q0, q1\n"
        "   vldrb.8     q2, [r5], #16\n"
        "   vmladava.s8 r4, q0, q2\n"
        "   vldrb.8     q3, [r3], #16\n"
        "   vmladava.s8 r12, q0, q3\n"
        "   vldrb.8     q1, [r5], #16\n"
        "   vmladava.s8 r6, q0, q1\n"
        "   vldrb.8     q2, [r3], #16\n"
        "   vmladava.s8 lr, q0, q2\n"
        "   beq         3f\n"
        "   le          2b\n"
        "3:\n"
        GLOWMCU_MATRIX_MVE_EIGHT("20"));
}
#else
GLOWMCU_CODE
static inline void glowmcu_matrix_mve_single(const glowmcu_matrix_mve *p, const int8_t *x,
    int8_t *out)
{
    const int32_t *stream = p->stream;

    for (int32_t oc = 0; oc < p->channels; ++oc) {
        const int32_t lane = oc & 3;
        const int8_t *w = (const int8_t *)stream + 16 * lane;
        int32_t sum = 0; /* within int32: the layer's comment has the bound */

        for (int32_t i = 0; i < p->depth; ++i) {
            const int32_t weight = w[(i / 16) * 64 + i % 16];
            sum += (weight != 0) ? x[i] * weight : 0; /* beyond a window nobody wrote x */
        }
        out[oc] = glowmcu_scale_mve_one(&p->scale, sum, stream + p->depth + lane, 4);
        if (lane == 3) {
            stream += p->depth + 4 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);
        }
    }
}

GLOWMCU_CODE
static inline void glowmcu_matrix_mve_pair(const glowmcu_matrix_mve *p, const int8_t *x,
    int8_t *out)
{
    glowmcu_matrix_mve_single(p, x, out);
    glowmcu_matrix_mve_single(p, x + p->depth, out + p->channels);
}
#endif

/* `rows` rows, `depth` bytes apart, to `rows` times `channels` results. */
GLOWMCU_CODE
static inline void glowmcu_matrix_mve_rows(const glowmcu_matrix_mve *p, const int8_t *x,
    int8_t *out, int32_t rows)
{
    for (; rows > 1; rows -= 2) {
        glowmcu_matrix_mve_pair(p, x, out);
        x += 2 * p->depth;
        out += 2 * p->channels;
    }
    if (rows > 0) {
        glowmcu_matrix_mve_single(p, x, out);
    }
}

#endif /* GLOWMCU_MATRIX_MVE_H */

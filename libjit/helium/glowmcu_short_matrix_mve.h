/*
 * glowmcu_short_matrix_mve.h: int8 1x1 convolutions of pixels that one vector holds.
 *
 * The weights of four channels stay in registers while up to 16 pixels pass.
 */
#ifndef GLOWMCU_SHORT_MATRIX_MVE_H
#define GLOWMCU_SHORT_MATRIX_MVE_H

#include "glowmcu_matrix_mve.h"

#define GLOWMCU_SHORT_MATRIX_MVE_PIXELS 16

typedef struct {
    glowmcu_matrix_mve matrix; /* depth 16, channels a multiple of 4, scale in the floor form */
    int32_t out_width;
    int32_t pixel_bytes; /* of the input, 1 to 16 */
} glowmcu_short_matrix_mve;

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(
    offsetof(glowmcu_short_matrix_mve, pixel_bytes) == 28, pixel_bytes_are_eighth);

/*
 * `pixels` pixels, at least 1, four channels after four channels. In assembly because the sums of a
 * pixel are formed while those of the pixel before are scaled, so that neither waits for itself.
 *
 * r1 x; r3 pixels - 1; r5 stream; r7 out; r8 preshift; r9 bytes of a pixel; r10 the first pixel;
 * r11 channels; r12 its first result; sums in r0 r2 r4 r6, weights in q4 to q7. On the stack, the
 * end of the first pixel's results.
 */
/* stack: 104 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_short_matrix_mve_block(
    const glowmcu_short_matrix_mve *p GLOWMCU_UNUSED, const int8_t *x GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED, int32_t pixels GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r4-r11, lr}\n"
        "   vpush       {d8-d15}\n"
        "   ldrd        r11, r8, [r0, #4]\n"
        "   ldr         r5, [r0, #20]\n"
        "   ldr         r9, [r0, #28]\n"
        "   mov         r10, r1\n"
        "   mov         r12, r2\n"
        "   add         r0, r2, r11\n"
        "   push        {r0}\n"
        "   sub         r3, r3, #1\n"
        "   vctp.8      r9\n"
        "1: vldrb.8     q4, [r5], #16\n"        /* four channels */
        "   vldrb.8     q5, [r5], #16\n"
        "   vldrb.8     q6, [r5], #16\n"
        "   vldrb.8     q7, [r5], #16\n"
        "   vldrw.32    q2, [r5], #16\n"
        "   vldrw.32    q3, [r5], #16\n"
        "   mov         r1, r10\n"
        "   mov         r7, r12\n"
        "   vpst\n"
        "   vldrbt.8    q0, [r1]\n"
        "   add         r1, r1, r9\n"
        "   vmladav.s8  r0, q0, q4\n"
        "   vmladav.s8  r2, q0, q5\n"
        "   vmladav.s8  r4, q0, q6\n"
        "   vmladav.s8  r6, q0, q7\n"
        "   vmov        q1[2], q1[0], r0, r4\n"
        "   vmov        q1[3], q1[1], r2, r6\n"
        "   wls         lr, r3, 3f\n"
        "2: vpst\n"                            /* a pixel, and the scale of the one before */
        "   vldrbt.8    q0, [r1]\n"
        "   vshl.s32    q1, r8\n"
        "   add         r1, r1, r9\n"
        "   vmladav.s8  r0, q0, q4\n"
        "   vadd.i32    q1, q1, q2\n"
        "   vmladav.s8  r2, q0, q5\n"
        "   vmulh.s32   q1, q1, q3\n"
        "   vmladav.s8  r4, q0, q6\n"
        "   vshrnb.i32  q1, q1, #16\n"
        "   vmladav.s8  r6, q0, q7\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vstrb.32    q1, [r7]\n"
        "   add         r7, r7, r11\n"
        "   vmov        q1[2], q1[0], r0, r4\n"
        "   vmov        q1[3], q1[1], r2, r6\n"
        "   le          lr, 2b\n"
        "3: vshl.s32    q1, r8\n"
        "   vadd.i32    q1, q1, q2\n"
        "   vmulh.s32   q1, q1, q3\n"
        "   vshrnb.i32  q1, q1, #16\n"
        "   ldr         r0, [sp]\n"
        "   vqmovnb.s16 q1, q1\n"
        "   add         r12, r12, #4\n"
        "   vstrb.32    q1, [r7]\n"
        "   cmp         r12, r0\n"
        "   bne         1b\n"
        "   add         sp, sp, #4\n"
        "   vpop        {d8-d15}\n"
        "   pop         {r4-r11, pc}\n");
}
#else
GLOWMCU_CODE
static inline void glowmcu_short_matrix_mve_block(const glowmcu_short_matrix_mve *p,
    const int8_t *x, int8_t *out, int32_t pixels)
{
    const int32_t *stream = p->matrix.stream;

    for (int32_t channel = 0; channel < p->matrix.channels; channel += 4) {
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            const int8_t *from = x + pixel * p->pixel_bytes;
            int8_t *to = out + pixel * p->matrix.channels + channel;

            for (int32_t lane = 0; lane < 4; ++lane) {
                const int8_t *w = (const int8_t *)stream + 16 * lane;
                int32_t sum = 0; /* within int32: the layer's comment has the bound */

                for (int32_t i = 0; i < p->pixel_bytes; ++i) {
                    sum += from[i] * w[i];
                }
                to[lane] = glowmcu_scale_mve_one(&p->matrix.scale, sum, stream + 16 + lane, 4);
            }
        }
        stream += 24; /* 64 weights, 4 addends, 4 multipliers */
    }
}
#endif

/*
 * Output rows [first_row, end_row), which `in` and `out` begin with. Results may overwrite pixels
 * before the 16 that are read.
 */
GLOWMCU_CODE
static void glowmcu_short_matrix_mve_s8(const glowmcu_short_matrix_mve *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    int32_t left = (end_row - first_row) * p->out_width;

    while (left > 0) {
        const int32_t pixels =
            (left < GLOWMCU_SHORT_MATRIX_MVE_PIXELS) ? left : GLOWMCU_SHORT_MATRIX_MVE_PIXELS;

        glowmcu_short_matrix_mve_block(p, in, out, pixels);
        in += pixels * p->pixel_bytes;
        out += pixels * p->matrix.channels;
        left -= pixels;
    }
}

#endif /* GLOWMCU_SHORT_MATRIX_MVE_H */

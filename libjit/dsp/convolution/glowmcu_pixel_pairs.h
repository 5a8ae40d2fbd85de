/*
 * glowmcu_pixel_pairs.h: sums of products for two output pixels and four output channels at a time.
 *
 * A convolution reads int16 pixels and one stream of constants a layer. For each group of four
 * output channels the stream holds: what sums start from, weights in the order of the inner loop,
 * requantization constants. Two layouts of weights:
 *
 *   packed  256 * high + low: one int16 for channels 0 and 1, one for 2 and 3. SMLAD on such words
 *           gives S = 256 * H + L, on their low bytes (SXTB16) L; 256 * H = S - L modulo 2^32.
 *   wide    an int16 for each channel: for weights whose packed value does not fit.
 *
 * The functions are made for a distance between the two pixels and a number of steps, with the
 * assembly of this file. Elsewhere the C below does the same on the same stream.
 */
#ifndef GLOWMCU_PIXEL_PAIRS_H
#define GLOWMCU_PIXEL_PAIRS_H

#include "glowmcu_dsp.h"

/*
 * `count` pairs of pixels: all groups in [stream, end) at `pixel` and at a fixed distance behind,
 * results at `out` and `out + second`; `second` 0 drops the second pixel's. From pair to pair
 * `pixel` moves by `pixel_bytes`, `out` by the groups' channels and `skip`.
 */
typedef void (*glowmcu_pixel_pairs)(const int16_t *pixel, const int32_t *stream,
    const int32_t *end, int8_t *out, int32_t second, int32_t count, int32_t pixel_bytes,
    int32_t skip);

#if GLOWMCU_HAS_DSP
/*
 * Registers: r0 pixels, r1 stream, r2 r3 two values of either pixel, r4 r5 weights. Accumulators of
 * the first pixel r6 r7 r10 r11, of the second r8 r9 r12 lr, in the order of the channels.
 * Stack: 0 pixel, 4 stream, 8 end, 12 out, 16 saved registers, 52 second, 56 count, 60 pixel_bytes,
 * 64 skip.
 */
#define GLOWMCU_PAIRS_ENTER   \
    "push {r4-r11, lr}\n\t"   \
    "push {r0-r3}\n"          \
    "3:\n\t"                  \
    "ldr r1, [sp, #4]\n"      \
    "2:\n\t"                  \
    "ldr r0, [sp]\n\t"

/* Stores the four results of both pixels, the first pixel's last; to the next group or pair. */
#define GLOWMCU_PAIRS_LEAVE     \
    "ldr r0, [sp, #12]\n\t"     \
    "ldr r2, [sp, #52]\n\t"     \
    "ldr r3, [sp, #8]\n\t"      \
    "add r2, r0\n\t"            \
    "strb r8, [r2]\n\t"         \
    "strb r9, [r2, #1]\n\t"     \
    "strb r12, [r2, #2]\n\t"    \
    "strb lr, [r2, #3]\n\t"     \
    "strb r6, [r0]\n\t"         \
    "strb r7, [r0, #1]\n\t"     \
    "strb r10, [r0, #2]\n\t"    \
    "strb r11, [r0, #3]\n\t"    \
    "adds r0, #4\n\t"           \
    "str r0, [sp, #12]\n\t"     \
    "cmp r1, r3\n\t"            \
    "bne 2b\n\t"                \
    "ldr r1, [sp]\n\t"          \
    "ldr r2, [sp, #60]\n\t"     \
    "ldr r3, [sp, #64]\n\t"     \
    "ldr r4, [sp, #56]\n\t"     \
    "add r1, r2\n\t"            \
    "add r0, r3\n\t"            \
    "str r1, [sp]\n\t"          \
    "str r0, [sp, #12]\n\t"     \
    "subs r4, #1\n\t"           \
    "str r4, [sp, #56]\n\t"     \
    "bne 3b\n\t"                \
    "add sp, #16\n\t"           \
    "pop {r4-r11, pc}\n\t"

/* Two values of both pixels at byte offsets x0 and x1, weights at w0 and w1. */
#define GLOWMCU_PAIRS_LOAD(x0, x1, w0, w1) \
    "ldr r2, [r0, #" #x0 "]\n\t"           \
    "ldr r3, [r0, #" #x1 "]\n\t"           \
    "ldr r4, [r1, #" #w0 "]\n\t"           \
    "ldr r5, [r1, #" #w1 "]\n\t"

#define GLOWMCU_PAIRS_LOW_BYTES \
    "sxtb16 r4, r4\n\t"         \
    "sxtb16 r5, r5\n\t"

#define GLOWMCU_PAIRS_PRODUCTS      \
    "smlad r6, r2, r4, r6\n\t"      \
    "smlad r8, r3, r4, r8\n\t"      \
    "smlad r10, r2, r5, r10\n\t"    \
    "smlad r12, r3, r5, r12\n\t"    \
    GLOWMCU_PAIRS_LOW_BYTES         \
    "smlad r7, r2, r4, r7\n\t"      \
    "smlad r9, r3, r4, r9\n\t"      \
    "smlad r11, r2, r5, r11\n\t"    \
    "smlad lr, r3, r5, lr\n\t"

#define GLOWMCU_PAIRS_STEP(x0, x1, w0, w1) \
    GLOWMCU_PAIRS_LOAD(x0, x1, w0, w1)     \
    GLOWMCU_PAIRS_PRODUCTS

/* Values that are not neighbours: x0 and y0 of the first pixel, x1 and y1 of the second. */
#define GLOWMCU_PAIRS_JOIN(x0, y0, x1, y1) \
    "ldrh r2, [r0, #" #x0 "]\n\t"          \
    "ldrh r4, [r0, #" #y0 "]\n\t"          \
    "ldrh r3, [r0, #" #x1 "]\n\t"          \
    "ldrh r5, [r0, #" #y1 "]\n\t"          \
    "pkhbt r2, r2, r4, lsl #16\n\t"        \
    "pkhbt r3, r3, r5, lsl #16\n\t"

#define GLOWMCU_PAIRS_JOINED_STEP(x0, y0, x1, y1, w0, w1) \
    GLOWMCU_PAIRS_JOIN(x0, y0, x1, y1)                    \
    "ldr r4, [r1, #" #w0 "]\n\t"                          \
    "ldr r5, [r1, #" #w1 "]\n\t"                          \
    GLOWMCU_PAIRS_PRODUCTS

/*
 * What the sums start from: of the high channels a constant of the stream, or of all. FIRST is
 * START with the first step. r1 is left at the word before the weights.
 */
#define GLOWMCU_PAIRS_START_FLOOR      \
    "ldrd r6, r10, [r1], #4\n\t"       \
    "movs r7, #0\n\t"                  \
    "mov r8, r6\n\t"                   \
    "mov r9, r7\n\t"                   \
    "mov r11, r7\n\t"                  \
    "mov r12, r10\n\t"                 \
    "mov lr, r7\n\t"

#define GLOWMCU_PAIRS_START_STARTED    \
    "ldrd r6, r10, [r1], #8\n\t"       \
    "ldrd r7, r11, [r1], #4\n\t"       \
    "mov r8, r6\n\t"                   \
    "mov r9, r7\n\t"                   \
    "mov r12, r10\n\t"                 \
    "mov lr, r11\n\t"

#define GLOWMCU_PAIRS_START_WIDE          \
    "ldmia r1!, {r6, r7, r10, r11}\n\t"   \
    "mov r8, r6\n\t"                      \
    "mov r9, r7\n\t"                      \
    "mov r12, r10\n\t"                    \
    "mov lr, r11\n\t"                     \
    "subs r1, #4\n\t"

#define GLOWMCU_PAIRS_FIRST_FLOOR(x0, x1) \
    "ldrd r7, r11, [r1], #4\n\t"          \
    GLOWMCU_PAIRS_LOAD(x0, x1, 4, 8)      \
    "smlad r6, r2, r4, r7\n\t"            \
    "smlad r8, r3, r4, r7\n\t"            \
    "smlad r10, r2, r5, r11\n\t"          \
    "smlad r12, r3, r5, r11\n\t"          \
    GLOWMCU_PAIRS_LOW_BYTES               \
    "smuad r7, r2, r4\n\t"                \
    "smuad r9, r3, r4\n\t"                \
    "smuad r11, r2, r5\n\t"               \
    "smuad lr, r3, r5\n\t"

#define GLOWMCU_PAIRS_WIDE_PRODUCTS(w2, w3) \
    "smlad r6, r2, r4, r6\n\t"              \
    "smlad r8, r3, r4, r8\n\t"              \
    "smlad r7, r2, r5, r7\n\t"              \
    "smlad r9, r3, r5, r9\n\t"              \
    "ldr r4, [r1, #" #w2 "]\n\t"            \
    "ldr r5, [r1, #" #w3 "]\n\t"            \
    "smlad r10, r2, r4, r10\n\t"            \
    "smlad r12, r3, r4, r12\n\t"            \
    "smlad r11, r2, r5, r11\n\t"            \
    "smlad lr, r3, r5, lr\n\t"

#define GLOWMCU_PAIRS_WIDE_STEP(x0, x1, w0, w1, w2, w3) \
    GLOWMCU_PAIRS_LOAD(x0, x1, w0, w1)                  \
    GLOWMCU_PAIRS_WIDE_PRODUCTS(w2, w3)

#define GLOWMCU_PAIRS_WIDE_JOINED_STEP(x0, y0, x1, y1, w0, w1, w2, w3) \
    GLOWMCU_PAIRS_JOIN(x0, y0, x1, y1)                                 \
    "ldr r4, [r1, #" #w0 "]\n\t"                                       \
    "ldr r5, [r1, #" #w1 "]\n\t"                                       \
    GLOWMCU_PAIRS_WIDE_PRODUCTS(w2, w3)

/*
 * Between chunks the stream holds the way to the next one's pixels; after the last one -1, which
 * makes a carry. `bytes` is the chunk and the word before it.
 */
#define GLOWMCU_PAIRS_LOOP(bytes)     \
    "ldr r4, [r1, #" #bytes "]!\n\t"  \
    "adds r0, r0, r4\n\t"             \
    "bcc 1b\n\t"                      \
    "adds r1, #4\n\t"

#define GLOWMCU_PAIRS_WIDE_LOOP(bytes)  \
    "add r1, #" #bytes "\n\t"           \
    "ldr r4, [r1]\n\t"                  \
    "adds r0, r0, r4\n\t"               \
    "bcc 1b\n\t"                        \
    "adds r1, #4\n\t"

/*
 * Requantization of a channel, both pixels: `a` the first's accumulator, `b` the second's. HIGH of
 * a packed sum S (`a`, `b`) with its L (`c`, `d`), LOW of an accumulator that is whole.
 */
#define GLOWMCU_PAIRS_SATURATE(a, b, shift)     \
    "ssat " #a ", #8, " #a ", asr #" #shift "\n\t" \
    "ssat " #b ", #8, " #b ", asr #" #shift "\n\t"

#define GLOWMCU_PAIRS_DIFFERENCE(a, b, c, d) \
    "sub " #a ", " #a ", " #c "\n\t"         \
    "sub " #b ", " #b ", " #d "\n\t"

#define GLOWMCU_PAIRS_SHIFTED(a, b, addend)           \
    "add " #a ", " #addend ", " #a ", lsl #8\n\t"     \
    "add " #b ", " #addend ", " #b ", lsl #8\n\t"

/* Channels 0 and 1, or 2 and 3. */
#define GLOWMCU_PAIRS_FLOOR(a, c, b, d, shift)  \
    "ldmia r1!, {r2, r3, r4}\n\t"               \
    GLOWMCU_PAIRS_DIFFERENCE(a, b, c, d)        \
    GLOWMCU_PAIRS_SHIFTED(c, d, r3)             \
    "smmul " #a ", " #a ", r2\n\t"              \
    "smmul " #b ", " #b ", r2\n\t"              \
    "smmul " #c ", " #c ", r4\n\t"              \
    "smmul " #d ", " #d ", r4\n\t"              \
    GLOWMCU_PAIRS_SATURATE(a, b, shift)         \
    GLOWMCU_PAIRS_SATURATE(c, d, shift)

#define GLOWMCU_PAIRS_FLOOR_LOW(a, b, shift) \
    "ldmia r1!, {r2, r3}\n\t"                \
    GLOWMCU_PAIRS_SHIFTED(a, b, r2)          \
    "smmul " #a ", " #a ", r3\n\t"           \
    "smmul " #b ", " #b ", r3\n\t"           \
    GLOWMCU_PAIRS_SATURATE(a, b, shift)

/* r2 addend, r3 multiplier, r4 step; r5 and r0 are the steps of either pixel. */
#define GLOWMCU_PAIRS_STEPS(a, b)         \
    "ldmia r1!, {r2, r3, r4}\n\t"         \
    "and r5, r4, " #a ", asr #31\n\t"     \
    "and r0, r4, " #b ", asr #31\n\t"

#define GLOWMCU_PAIRS_TWO_SIDED_END(a, b, shift) \
    "smmla " #a ", " #a ", r3, r5\n\t"           \
    "smmla " #b ", " #b ", r3, r0\n\t"           \
    GLOWMCU_PAIRS_SATURATE(a, b, shift)

#define GLOWMCU_PAIRS_TWO_SIDED_HIGH(a, b, c, d, shift) \
    GLOWMCU_PAIRS_DIFFERENCE(a, b, c, d)                \
    GLOWMCU_PAIRS_STEPS(a, b)                           \
    "add " #a ", " #a ", r2\n\t"                        \
    "add " #b ", " #b ", r2\n\t"                        \
    GLOWMCU_PAIRS_TWO_SIDED_END(a, b, shift)

#define GLOWMCU_PAIRS_TWO_SIDED_LOW(a, b, shift) \
    GLOWMCU_PAIRS_STEPS(a, b)                    \
    GLOWMCU_PAIRS_SHIFTED(a, b, r2)              \
    GLOWMCU_PAIRS_TWO_SIDED_END(a, b, shift)

/* r2 multiplier, r3 step, r4 shift. */
#define GLOWMCU_PAIRS_LITERAL_LOW(a, b)     \
    "ldmia r1!, {r2, r3, r4}\n\t"           \
    "add r5, r3, " #a ", asr #31\n\t"       \
    "add r0, r3, " #b ", asr #31\n\t"       \
    "lsl " #a ", " #a ", #1\n\t"            \
    "lsl " #b ", " #b ", #1\n\t"            \
    "smmlar " #a ", " #a ", r2, r5\n\t"     \
    "smmlar " #b ", " #b ", r2, r0\n\t"     \
    "asr " #a ", " #a ", r4\n\t"            \
    "asr " #b ", " #b ", r4\n\t"            \
    "ssat " #a ", #8, " #a "\n\t"           \
    "ssat " #b ", #8, " #b "\n\t"

#define GLOWMCU_PAIRS_LITERAL_HIGH(a, b, c, d) \
    GLOWMCU_PAIRS_DIFFERENCE(a, b, c, d)       \
    "asr " #a ", " #a ", #8\n\t"               \
    "asr " #b ", " #b ", #8\n\t"               \
    GLOWMCU_PAIRS_LITERAL_LOW(a, b)

#else /* the same in C */

#define GLOWMCU_FORM_FLOOR 0
#define GLOWMCU_FORM_TWO_SIDED 1
#define GLOWMCU_FORM_LITERAL 2

/* What a rendered function is made for; distances in bytes. */
typedef struct {
    int32_t form;
    int32_t shift; /* the form's post shift */
    int32_t wide;
    int32_t distance; /* from the first pixel of a pair to the second */
    int32_t loops;    /* more than one chunk of weights a group */
    int32_t steps;    /* of a chunk, two values each */
    const int16_t *offsets; /* of the steps' values from the pixel, [steps][2] */
} glowmcu_pixel_pairs_shape;

/* Four accumulators of one pixel; packed sums are S, L, S, L. */
typedef struct {
    int32_t sum[4];
} glowmcu_pixel_sums;

/*
 * The halves of `x` that have a weight. A step of two values may read one beyond the window, which
 * nobody wrote; its weight is 0, and here a memory checker sees that it has no say.
 */
GLOWMCU_CODE
static inline uint32_t glowmcu_weighted_halves(uint32_t x, uint32_t weights)
{
    const uint32_t low = ((weights & 0xFFFFu) != 0u) ? 0xFFFFu : 0u;
    const uint32_t high = ((weights >> 16) != 0u) ? 0xFFFF0000u : 0u;

    return x & (low | high);
}

GLOWMCU_CODE
static inline void glowmcu_pixel_sums_step(const glowmcu_pixel_pairs_shape *k, uint32_t x,
    const int32_t *w, glowmcu_pixel_sums *sums)
{
    for (int32_t i = 0; i < 4; ++i) {
        uint32_t weights = (uint32_t)(k->wide ? w[i] : w[i / 2]);
        if (!k->wide && i % 2 == 1) {
            weights = glowmcu_sxtb16(weights);
        }
        sums->sum[i] = glowmcu_smlad(glowmcu_weighted_halves(x, weights), weights, sums->sum[i]);
    }
}

/* The two values of a step. */
GLOWMCU_CODE
static inline uint32_t glowmcu_pixel_values(const uint8_t *pixel, const int16_t offsets[2])
{
    int16_t low;
    int16_t high;

    (void)memcpy(&low, pixel + offsets[0], sizeof low);
    (void)memcpy(&high, pixel + offsets[1], sizeof high);
    return glowmcu_halves(low, high);
}

/* All chunks of a group; returns what follows in the stream. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_pixel_sums_group(const glowmcu_pixel_pairs_shape *k,
    const uint8_t *pixel, const int32_t *w, glowmcu_pixel_sums *first, glowmcu_pixel_sums *second)
{
    for (;;) {
        for (int32_t step = 0; step < k->steps; ++step) {
            const int16_t *offsets = k->offsets + 2 * step;
            const uint32_t near = glowmcu_pixel_values(pixel, offsets);
            const uint32_t far = glowmcu_pixel_values(pixel + k->distance, offsets);
            glowmcu_pixel_sums_step(k, near, w, first);
            glowmcu_pixel_sums_step(k, far, w, second);
            w += k->wide ? 4 : 2;
        }
        if (!k->loops) {
            return w;
        }
        const int32_t way = *w++;
        if (way < 0) {
            return w;
        }
        pixel += way;
    }
}

/* What the sums of a group start from. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_pixel_sums_start(const glowmcu_pixel_pairs_shape *k,
    const int32_t *w, glowmcu_pixel_sums *sums)
{
    const int32_t count = (k->wide || k->form != GLOWMCU_FORM_FLOOR) ? 4 : 2;

    for (int32_t i = 0; i < 4; ++i) {
        sums->sum[i] = 0;
    }
    for (int32_t i = 0; i < count; ++i) {
        sums->sum[k->wide ? i : (i % 2) * 2 + i / 2] = *w++;
    }
    return w;
}

/* One result: `c` are the channel's constants, `value` its accumulator (the form's v or raw). */
GLOWMCU_CODE
static inline int32_t glowmcu_pixel_requantize(const glowmcu_pixel_pairs_shape *k,
    const int32_t *c, int32_t value)
{
    const int32_t sign = glowmcu_sign(value);

    if (k->form == GLOWMCU_FORM_LITERAL) {
        const int32_t doubled = (int32_t)((uint32_t)value << 1);
        const int32_t step = glowmcu_wrapping_add(c[1], sign);
        return glowmcu_saturate_s8(glowmcu_smmlar(doubled, c[0], step) >> c[2]);
    }
    const int32_t factor = (int32_t)((uint32_t)c[0] + ((uint32_t)value << 8));
    const int32_t step = (k->form == GLOWMCU_FORM_FLOOR) ? 0 : (c[2] & sign);
    return glowmcu_saturate_s8(glowmcu_smmla(factor, c[1], step) >> k->shift);
}

/* Results of a group at one pixel; returns what follows in the stream. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_pixel_store(const glowmcu_pixel_pairs_shape *k,
    const int32_t *w, const glowmcu_pixel_sums *sums, int8_t *out)
{
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t is_high = (!k->wide && i % 2 == 0) ? 1 : 0;
        int32_t value = sums->sum[i];
        if (is_high != 0) {
            value = (int32_t)((uint32_t)value - (uint32_t)sums->sum[i + 1]);
        }
        if (is_high && k->form == GLOWMCU_FORM_FLOOR) {
            out[i] = (int8_t)glowmcu_saturate_s8(glowmcu_smmul(value, w[0]) >> k->shift);
            w += 1;
        } else {
            out[i] = (int8_t)glowmcu_pixel_requantize(k, w, is_high ? value >> 8 : value);
            w += (k->form == GLOWMCU_FORM_FLOOR) ? 2 : 3;
        }
    }
    return w;
}

GLOWMCU_CODE
static inline void glowmcu_pixel_pairs_portable(const glowmcu_pixel_pairs_shape *k,
    const int16_t *pixel, const int32_t *stream, const int32_t *end, int8_t *out, int32_t second,
    int32_t count, int32_t pixel_bytes, int32_t skip)
{
    const uint8_t *x = (const uint8_t *)(const void *)pixel;

    for (; count > 0; --count, x += pixel_bytes, out += skip) {
        const int32_t *w = stream;
        while (w != end) {
            glowmcu_pixel_sums near;
            glowmcu_pixel_sums far;
            w = glowmcu_pixel_sums_start(k, w, &near);
            far = near;
            w = glowmcu_pixel_sums_group(k, x, w, &near, &far);
            (void)glowmcu_pixel_store(k, w, &far, out + second);
            w = glowmcu_pixel_store(k, w, &near, out);
            out += 4;
        }
    }
}
#endif

#endif /* GLOWMCU_PIXEL_PAIRS_H */

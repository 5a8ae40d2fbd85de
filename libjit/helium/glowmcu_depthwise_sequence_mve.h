/*
 * glowmcu_depthwise_sequence_mve.h: int8 depthwise convolution with windows one pixel high that
 * move pixel by pixel: a vector is sixteen pixels of a channel, one after the other.
 *
 * Four pixels are interleaved byte by byte, so that a word has four pixels of a channel and four
 * words, gathered, are a vector. Four results are made of it, each by one VMLADAV.S8 with the
 * window where it lies in the vector.
 */
#ifndef GLOWMCU_DEPTHWISE_SEQUENCE_MVE_H
#define GLOWMCU_DEPTHWISE_SEQUENCE_MVE_H

#include "glowmcu_mve.h"

#define GLOWMCU_DEPTHWISE_SEQUENCE_GROUP 16 /* channels at a time */
#define GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK 64 /* bytes of four pixels of a group */

typedef struct {
    int32_t channels; /* at least 16 */
    int32_t span;     /* at most 13: pixels from a window's first to behind its last */
    /*
     * A word of zeros. For each channel a window, 16 bytes, zeros behind `span` of them. For each
     * channel four words of a result,
     *   x = rounded_high_word(2 * (sum + start) * multiplier)
     *   sat8((x + (x >> 31) + step) >> shift)  with 16 bits before saturation
     * start, multiplier, step and -shift. Four words that mean nothing.
     */
    const int32_t *stream;
    int32_t in_width;
    int32_t out_width;
    int32_t stride_y;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t scratch_bytes; /* without the last 16 */
} glowmcu_depthwise_sequence_mve;

/* What the assembly reads by offsets: a group of channels of a row. */
typedef struct {
    const int8_t *weights; /* of the first channel */
    const int32_t *constants;
    const int8_t *words;
    int8_t *out;
    int32_t pixel;      /* bytes between results */
    int32_t four;       /* bytes between fours of results */
    int32_t last;       /* results of the last four */
    int32_t middle;     /* fours in front of it */
    const int8_t *end;  /* of the weights, and 16 bytes more */
    int32_t next_words; /* from the last four's words to 64 bytes before the next channel's first */
    int32_t next_out;   /* from the last four to the next channel's first */
} glowmcu_sequence_mve_group;

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_sequence_mve_group, words) == 8, words_at_8);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_sequence_mve_group, pixel) == 16, pixel_at_16);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_sequence_mve_group, last) == 24, last_at_24);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_sequence_mve_group, end) == 32, end_at_32);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_sequence_mve_group, next_out) == 40, next_at_40);

/*
 * A channel after another, four results at a time. The sums of a vector become results while the
 * next one's are made; a channel's last ones while the next channel's window is loaded, or behind
 * the last channel what lies there.
 *
 * r3 out; r5 weights, r0 constants of the next channel; r2 start, r12 multiplier, r7 step, r11
 * -shift; r4 r6 r8 r10 sums; r9 bytes between fours; r1 one. q0 a vector; q1 results; q2 addresses
 * of words, q3 offsets of results; q4-q7 the window at each place. The predicate is of the last
 * four. On the stack: middle, end, next_words, next_out.
 */
/* stack: 116 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_sequence_mve_compute(
    const glowmcu_sequence_mve_group *p GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r4-r11, lr}\n"
        "   vpush       {d8-d15}\n"
        "   ldrd        r1, r3, [r0, #8]\n"     /* words, out */
        "   ldrd        r2, r9, [r0, #16]\n"    /* pixel, four */
        "   ldrd        r7, r8, [r0, #24]\n"    /* last, middle */
        "   ldrd        r10, r11, [r0, #32]\n"  /* end, next_words */
        "   ldr         r12, [r0, #40]\n"       /* next_out */
        "   ldrd        r5, r0, [r0, #0]\n"     /* weights, constants */
        "   push        {r8, r10, r11, r12}\n"
        "   movs        r4, #0\n"
        "   vctp.32     r7\n"
        "   vidup.u32   q2, r4, #1\n"
        "   subs        r1, #64\n"
        "   vmul.i32    q3, q2, r2\n"
        "   ldrd        r2, r12, [r0], #16\n"
        "   vshl.i32    q2, q2, #6\n"
        "   ldrd        r7, r11, [r0, #-8]\n"
        "   vadd.i32    q2, q2, r1\n"
        "   movs        r1, #1\n"
        "   vldrb.u8    q5, [r5, #-1]\n"
        "   vldrb.u8    q6, [r5, #-2]\n"
        "   vldrb.u8    q7, [r5, #-3]\n"
        "   vldrb.u8    q4, [r5], #16\n"
        "   vldrw.u32   q0, [q2, #64]!\n"
        "   ldr         lr, [sp]\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   vmladav.s8  r6, q0, q5\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   vmladav.s8  r10, q0, q7\n"
        "1: wls         lr, lr, 3f\n"          /* a channel */
        "2: vmov        q1[2], q1[0], r4, r8\n"
        "   vmov        q1[3], q1[1], r6, r10\n"
        "   vadd.i32    q1, q1, r2\n"
        "   vqrdmulh.s32 q1, q1, r12\n"
        "   vldrw.u32   q0, [q2, #64]!\n"
        "   vqdmlah.s32 q1, q1, r1\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   vadd.i32    q1, q1, r7\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   vshl.s32    q1, r11\n"
        "   vmladav.s8  r6, q0, q5\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vmladav.s8  r10, q0, q7\n"
        "   vstrb.32    q1, [r3, q3]\n"
        "   add         r3, r9\n"
        "   le          lr, 2b\n"
        "3: vmov        q1[2], q1[0], r4, r8\n" /* the last four */
        "   vmov        q1[3], q1[1], r6, r10\n"
        "   vadd.i32    q1, q1, r2\n"
        "   ldrd        r4, r6, [sp, #4]\n"     /* end, next_words */
        "   vldrb.u8    q4, [r5]\n"
        "   vadd.i32    q2, q2, r6\n"
        "   vldrw.u32   q0, [q2, #64]!\n"
        "   vqrdmulh.s32 q1, q1, r12\n"
        "   vqdmlah.s32 q1, q1, r1\n"
        "   ldrd        r2, r12, [r0], #16\n"
        "   vldrb.u8    q7, [r5, #-3]\n"
        "   vadd.i32    q1, q1, r7\n"
        "   vldrb.u8    q6, [r5, #-2]\n"
        "   vshl.s32    q1, r11\n"
        "   vldrb.u8    q5, [r5, #-1]\n"
        "   adds        r5, #16\n"
        "   vqmovnb.s16 q1, q1\n"
        "   cmp         r5, r4\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   ldrd        r7, r11, [r0, #-8]\n"
        "   ldr         r8, [sp, #12]\n"        /* next_out */
        "   vmladav.s8  r6, q0, q5\n"
        "   ldr         lr, [sp]\n"
        "   vpst\n"
        "   vstrbt.32   q1, [r3, q3]\n"
        "   vmladav.s8  r10, q0, q7\n"
        "   add         r3, r8\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   bne         1b\n"
        "   add         sp, sp, #16\n"
        "   vpop        {d8-d15}\n"
        "   pop         {r4-r11, pc}\n");
}
#else
/* The result at pixel `ox` of a channel. */
GLOWMCU_CODE
static inline int8_t glowmcu_sequence_mve_one(const int8_t *words, const int8_t *w,
    const int32_t *c, int32_t span, int32_t ox)
{
    int32_t sum = 0; /* within int32: the layer's comment has the bound */

    for (int32_t kx = 0; kx < span; ++kx) {
        const int32_t pixel = ox + kx;
        sum += words[pixel / 4 * GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK + pixel % 4] * w[kx];
    }
    {
        const int32_t v = (int32_t)((uint32_t)sum + (uint32_t)c[0]);
        const int32_t x = (int32_t)(((int64_t)v * c[1] + ((int64_t)1 << 30)) >> 31);
        const int32_t y = (x + glowmcu_sign(x) + c[2]) >> -c[3];

        return (int8_t)((y < -128) ? -128 : ((y > 127) ? 127 : y));
    }
}
#endif

/* Sixteen bytes of each of four pixels to words; from there on `blocks` times, `step` apart. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_sequence_mve_interleave(int8_t *words,
    const int8_t *const *pixels, int32_t step, int32_t blocks)
{
#if GLOWMCU_HAS_MVE
    const int8_t *a = pixels[0];
    const int8_t *b = pixels[1];
    const int8_t *c = pixels[2];
    const int8_t *d = pixels[3];

    __asm__ volatile(
        "   dls         lr, %6\n"
        "1: vldrb.u8    q0, [%1]\n"
        "   vldrb.u8    q1, [%2]\n"
        "   add         %1, %5\n"
        "   vldrb.u8    q2, [%3]\n"
        "   add         %2, %5\n"
        "   vldrb.u8    q3, [%4]\n"
        "   add         %3, %5\n"
        "   add         %4, %5\n"
        "   vst40.8     {q0, q1, q2, q3}, [%0]\n"
        "   vst41.8     {q0, q1, q2, q3}, [%0]\n"
        "   vst42.8     {q0, q1, q2, q3}, [%0]\n"
        "   vst43.8     {q0, q1, q2, q3}, [%0]!\n"
        "   le          lr, 1b\n"
        : "+r"(words), "+r"(a), "+r"(b), "+r"(c), "+r"(d)
        : "r"(step), "r"(blocks)
        : "lr", "q0", "q1", "q2", "q3", "memory");
#else
    for (int32_t i = 0; i < blocks * GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK; ++i) {
        const int32_t block = i / GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK;
        const int32_t lane = i % GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK / 4;

        words[i] = pixels[i % 4][block * step + lane];
    }
#endif
}

/* Words of the pixels below a row of windows; `padding` has 16 bytes of the zero point. */
GLOWMCU_CODE
static inline void glowmcu_sequence_mve_fill(const glowmcu_depthwise_sequence_mve *p,
    const int8_t *row, int8_t *words, const int8_t *padding)
{
    const int32_t blocks = (p->out_width + p->span + 2) / 4;
    int32_t count;

    for (int32_t block = 0; block < blocks; block += count) {
        const int32_t first = 4 * block - p->pad_left;
        const int8_t *pixels[4];
        int32_t step = 0;

        count = 1;
        for (int32_t i = 0; i < 4; ++i) {
            const int32_t pixel = first + i;
            const int32_t is_inside = (pixel >= 0 && pixel < p->in_width);
            pixels[i] = is_inside ? row + pixel * p->channels : padding;
        }
        if (first >= 0 && first + 4 <= p->in_width) {
            const int32_t inside = (p->in_width - first) / 4;
            count = (inside < blocks - block) ? inside : blocks - block;
            step = 4 * p->channels;
        }
        glowmcu_sequence_mve_interleave(
            words + block * GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK, pixels, step, count);
    }
}

/* The results of `count` channels from `c` on. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_sequence_mve_channels(
    const glowmcu_depthwise_sequence_mve *p, const int8_t *words, int8_t *out, int32_t c,
    int32_t count)
{
    const int8_t *weights = (const int8_t *)(p->stream + 1 + 4 * c);
    const int32_t *constants = p->stream + 1 + 4 * (p->channels + c);
#if GLOWMCU_HAS_MVE
    const int32_t middle = (p->out_width - 1) / 4;
    glowmcu_sequence_mve_group group;

    group.weights = weights;
    group.constants = constants;
    group.words = words;
    group.out = out;
    group.pixel = p->channels;
    group.four = 4 * p->channels;
    group.last = p->out_width - 4 * middle;
    group.middle = middle;
    group.end = weights + 16 * (count + 1);
    group.next_words = 4 - GLOWMCU_DEPTHWISE_SEQUENCE_BLOCK * (middle + 1);
    group.next_out = 1 - middle * group.four;
    glowmcu_sequence_mve_compute(&group);
#else
    for (int32_t i = 0; i < count; ++i) {
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            out[ox * p->channels + i] = glowmcu_sequence_mve_one(
                words + 4 * i, weights + 16 * i, constants + 4 * i, p->span, ox);
        }
    }
#endif
}

/*
 * Output rows [first_row, end_row), each a group of channels after another. Reads the input rows
 * under them, writes only those rows. `in` begins with the first of these input rows, `out` with
 * row first_row. A group is read before it is written; where it would end behind the last channel
 * it is read from before its first one on.
 * `scratch`: scratch_bytes and 16.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_sequence_mve_s8(const glowmcu_depthwise_sequence_mve *p,
    const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    int8_t *padding = scratch + p->scratch_bytes;

    glowmcu_mve_fill(padding, p->in_zero_point, 16);
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        for (int32_t c = 0; c < p->channels; c += GLOWMCU_DEPTHWISE_SEQUENCE_GROUP) {
            const int32_t left = p->channels - c;
            const int32_t is_full = (left >= GLOWMCU_DEPTHWISE_SEQUENCE_GROUP);
            const int32_t count = is_full ? GLOWMCU_DEPTHWISE_SEQUENCE_GROUP : left;
            const int32_t read = c + count - GLOWMCU_DEPTHWISE_SEQUENCE_GROUP;

            glowmcu_sequence_mve_fill(p, in + read, scratch, padding);
            glowmcu_sequence_mve_channels(
                p, scratch + 4 * (c - read), out + c, c, count);
        }
        in += p->stride_y * p->in_width * p->channels;
        out += p->out_width * p->channels;
    }
}

#endif /* GLOWMCU_DEPTHWISE_SEQUENCE_MVE_H */

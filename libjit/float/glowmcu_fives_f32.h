/*
 * glowmcu_fives_f32.h: float products of windows, five pixels side by side by four channels at a
 * time; see glowmcu_windows.h. For cores without float vectors, though others run it, too.
 *
 * Twenty sums, eight weights, two inputs and two products are all 32 registers. Weights of two
 * products take one VLDM, inputs of a pixel another: 104 cycles for forty products on a Cortex-M4,
 * 2.6 each, where two pixels by eight channels take 2.75. A sum begins as its first product instead
 * of 0 and that product, which may be -0: what is added last is no -0, so that results are the same
 * bits.
 */
#ifndef GLOWMCU_FIVES_F32_H
#define GLOWMCU_FIVES_F32_H

#include "glowmcu_window_f32.h"

#if GLOWMCU_HAS_FPU
/* What the assembly reads; distances are in bytes. */
typedef struct {
    const float *in[5]; /* the windows */
    int32_t first; /* products of the first row, without the first two */
    int32_t rows;
    int32_t row; /* products of a row */
    int32_t row_gap;
    int32_t row_weights; /* of products outside the image from row to row */
    int32_t out_step;
    int32_t after; /* weights of products below and to the right of the image */
    int32_t before;
    int32_t most; /* bits of the greatest result if 0 is the least; 0 for ReLU, -1 for no limit */
} glowmcu_fives_f32;
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_fives_f32, most) == 52, fives_are_as_assembly_reads);

/* Products of x with four weights are what sums are, or are added to them. */
#define GLOWMCU_MUL(product, x, w) "vmul.f32 " product ", " x ", " w "\n"
#define GLOWMCU_FIVES_BEGIN(x, a0, a1, a2, a3) \
    GLOWMCU_MUL(a0, x, "s20") GLOWMCU_MUL(a1, x, "s21") \
    GLOWMCU_MUL(a2, x, "s22") GLOWMCU_MUL(a3, x, "s23")
#define GLOWMCU_FIVES_ADD(x, w0, w1, w2, w3, a0, a1, a2, a3) \
    GLOWMCU_MUL("s30", x, w0) GLOWMCU_MUL("s31", x, w1) \
    GLOWMCU_ADD(a0, "s30") GLOWMCU_MUL("s30", x, w2) \
    GLOWMCU_ADD(a1, "s31") GLOWMCU_MUL("s31", x, w3) \
    GLOWMCU_ADD(a2, "s30") GLOWMCU_ADD(a3, "s31")

/* Of one pixel: the first two products, two, one. */
#define GLOWMCU_FIVES_FIRST_4(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_FIVES_BEGIN("s28", a0, a1, a2, a3) \
    GLOWMCU_FIVES_ADD("s29", "s24", "s25", "s26", "s27", a0, a1, a2, a3)
#define GLOWMCU_FIVES_TWO_4(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_FIVES_ADD("s28", "s20", "s21", "s22", "s23", a0, a1, a2, a3) \
    GLOWMCU_FIVES_ADD("s29", "s24", "s25", "s26", "s27", a0, a1, a2, a3)
#define GLOWMCU_FIVES_ONE_4(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28}\n" \
    GLOWMCU_FIVES_ADD("s28", "s20", "s21", "s22", "s23", a0, a1, a2, a3)
/* The same for all pixels; two products of them. */
#define GLOWMCU_FIVES_ALL(text) \
    text("a", "s0", "s1", "s2", "s3") \
    text("b", "s4", "s5", "s6", "s7") \
    text("c", "s8", "s9", "s10", "s11") \
    text("d", "s12", "s13", "s14", "s15") \
    text("e", "s16", "s17", "s18", "s19")
#define GLOWMCU_FIVES_PAIR_4 \
    "vldmia %[w]!, {s20-s27}\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_TWO_4)

#define GLOWMCU_FIVES_BIAS_4(in, a0, a1, a2, a3) \
    GLOWMCU_ADD_4(a0, a1, a2, a3, "s20", "s21", "s22", "s23")
/* Stores at %[m], which goes on to the next pixel. */
#define GLOWMCU_FIVES_RELU_4(in, a0, a1, a2, a3) \
    "vmov %[a], %[b], " a0 ", " a1 "\n" \
    "vmov %[c], %[d], " a2 ", " a3 "\n" \
    "bic.w %[a], %[a], %[a], asr #31\n" \
    "bic.w %[b], %[b], %[b], asr #31\n" \
    "bic.w %[c], %[c], %[c], asr #31\n" \
    "bic.w %[d], %[d], %[d], asr #31\n" \
    "str.w %[a], [%[m]]\n" \
    "str.w %[b], [%[m], #4]\n" \
    "str.w %[c], [%[m], #8]\n" \
    "str.w %[d], [%[m], #12]\n" \
    "add.w %[m], %[m], %[e]\n"
#define GLOWMCU_FIVES_CLAMP_4(in, a0, a1, a2, a3) \
    "vmov %[a], %[b], " a0 ", " a1 "\n" \
    "vmov %[c], %[d], " a2 ", " a3 "\n" \
    GLOWMCU_CLAMPED("a", "rows") \
    GLOWMCU_CLAMPED("b", "rows") \
    GLOWMCU_CLAMPED("c", "rows") \
    GLOWMCU_CLAMPED("d", "rows") \
    "str.w %[a], [%[m]]\n" \
    "str.w %[b], [%[m], #4]\n" \
    "str.w %[c], [%[m], #8]\n" \
    "str.w %[d], [%[m], #12]\n" \
    "add.w %[m], %[m], %[e]\n"
#define GLOWMCU_FIVES_KEEP_4(in, a0, a1, a2, a3) \
    "vstmia %[m], {" a0 "-" a3 "}\n" \
    "add %[m], %[m], %[e]\n"

/*
 * Ends a block, whose biases are in s20 to s23: %[rows] is `most`, %[e] `out_step`, `next` goes on
 * to the next block's weights. Labels: 1 block, 8 results that are not limited from above, 9 the
 * block's end and that of the loop, 10 results as they are.
 */
#define GLOWMCU_FIVES_FINISH(width, next) \
    "mov.w %[m], %[y]\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_BIAS_##width) \
    "cmp.w %[rows], #0\n" \
    "ble.w 8f\n" \
    GLOWMCU_CHECK("s0", "s4") GLOWMCU_CHECK("s8", "s12") GLOWMCU_CHECK("s16", "s16") \
    "vmrs %[c], fpscr\n" \
    "lsls.w %[c], %[c], #31\n" \
    "bne.w 10f\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_CLAMP_##width) \
    "9:\n" \
    next \
    "add.w %[y], %[y], #16\n" \
    "subs.w %[blocks], %[blocks], #1\n" \
    "bne.w 1b\n" \
    "b.w 9f\n" \
    "8:\n" \
    "blt.w 10f\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_RELU_##width) \
    "b.w 9b\n" \
    "10:\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_KEEP_##width) \
    "b.w 9b\n" \
    "9:\n"
/* Begins one: windows, what `begin` loads, and the first two products. */
#define GLOWMCU_FIVES_START(width, begin) \
    ".balign 4\n" \
    "1:\n" \
    "ldr.w %[a], [%[p], #0]\n" \
    "ldr.w %[b], [%[p], #4]\n" \
    "ldr.w %[c], [%[p], #8]\n" \
    "ldr.w %[d], [%[p], #12]\n" \
    "ldr.w %[e], [%[p], #16]\n" \
    "ldr.w %[rows], [%[p], #24]\n" \
    begin \
    "vldmia %[w]!, {s20-s27}\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_FIRST_##width)
#define GLOWMCU_FIVES_OPERANDS \
    : [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e), [n] "=&r"(n), \
      [m] "=&r"(m), [rows] "=&r"(rows), [w] "+r"(w), [y] "+r"(y), [blocks] "+r"(blocks) \
    : [p] "r"(p) \
    : "cc", "memory", GLOWMCU_ALL_FLOATS
#define GLOWMCU_FIVES_VARIABLES \
    const float *a; \
    const float *b; \
    const float *c; \
    const float *d; \
    const float *e; \
    int32_t n; \
    int32_t m; \
    int32_t rows

/*
 * Infinite inputs are in all sums of a pixel (see glowmcu_windows.h), the last block's, too. A
 * Cortex-M4 waits for 32-bit instructions that lie across words of code: the others are 32 bits
 * long, too, so that none does.
 *
 * `blocks` of `width` channels of five pixels. Labels: 1 block, 2 row, 3 and 4 two products, 5 what
 * is left of an odd row, 6 the row's end, 7 the next row, 10 the end.
 */
#define GLOWMCU_FIVES_LOOPS(width) \
    __asm__ volatile( \
        GLOWMCU_FIVES_START(width, "ldr.w %[n], [%[p], #20]\n") \
        "2:\n" \
        "subs.w %[n], %[n], #2\n" \
        "blt.w 5f\n" \
        "ands.w %[m], %[n], #2\n" \
        "beq.w 4f\n" \
        "3:\n" \
        GLOWMCU_FIVES_PAIR_##width \
        "4:\n" \
        GLOWMCU_FIVES_PAIR_##width \
        "subs.w %[n], %[n], #4\n" \
        "bge.w 3b\n" \
        "5:\n" \
        "ands.w %[n], %[n], #1\n" \
        "beq.w 6f\n" \
        "vldmia %[w]!, {s20-s23}\n" \
        GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_ONE_##width) \
        "6:\n" \
        "subs.w %[rows], %[rows], #1\n" \
        "bne.w 7f\n" \
        "ldr.w %[b], [%[p], #44]\n" \
        "ldr.w %[rows], [%[p], #52]\n" \
        "ldr.w %[e], [%[p], #40]\n" \
        "ldr.w %[n], [%[p], #48]\n" \
        "add.w %[w], %[w], %[b]\n" \
        "vldmia %[w]!, {s20-s23}\n" \
        GLOWMCU_FIVES_FINISH(width, "add.w %[w], %[w], %[n]\n") \
        "b.w 10f\n" \
        "7:\n" \
        "ldr %[n], [%[p], #32]\n" \
        "add %[a], %[a], %[n]\n" \
        "add %[b], %[b], %[n]\n" \
        "add %[c], %[c], %[n]\n" \
        "add %[d], %[d], %[n]\n" \
        "add %[e], %[e], %[n]\n" \
        "ldr %[n], [%[p], #36]\n" \
        "add %[w], %[w], %[n]\n" \
        "ldr %[n], [%[p], #28]\n" \
        "b 2b\n" \
        "10:\n" \
        GLOWMCU_FIVES_OPERANDS)

/* `blocks` of four channels. */
GLOWMCU_CODE
static inline void glowmcu_fives_f32_blocks(const glowmcu_fives_f32 *p, const float *w, float *y,
    int32_t blocks)
{
    GLOWMCU_FIVES_VARIABLES;

    GLOWMCU_FIVES_LOOPS(4);
}

/* What all fives have in common whose windows look alike. */
GLOWMCU_CODE
static inline void glowmcu_fives_f32_set(glowmcu_fives_f32 *fives, const glowmcu_window_f32 *p,
    int32_t channels)
{
    const int32_t products = 4 * p->fours + p->ones;

    fives->first = products - 2;
    fives->rows = p->rows;
    fives->row = products;
    fives->row_gap = 4 * p->in_gap;
    fives->row_weights = 16 * p->between;
    fives->out_step = 4 * channels;
    fives->after = 16 * p->after;
    fives->before = 16 * p->before;
    fives->most = (p->clamping == GLOWMCU_RELU) ? 0 : -1;
    if (p->clamping == GLOWMCU_CLAMP_NOW) {
        (void)memcpy(&fives->most, &p->clamp_max, sizeof fives->most);
    }
}

/* `blocks` of four channels, at `weights`, of five pixels; windows begin `step` floats apart. */
GLOWMCU_CODE
static inline void glowmcu_fives_f32_compute(glowmcu_fives_f32 *fives, const float *weights,
    int32_t blocks, const float *x, int32_t step, float *out)
{
    for (int32_t pixel = 0; pixel < 5; ++pixel) {
        fives->in[pixel] = x + pixel * step;
    }
    glowmcu_fives_f32_blocks(fives, weights + (fives->before >> 2), out, blocks);
}
#else
/* The windows' shape and the channels of a pixel. */
typedef struct {
    const glowmcu_window_f32 *window;
    int32_t channels;
} glowmcu_fives_f32;

/* What all fives have in common whose windows look alike. */
GLOWMCU_CODE
static inline void glowmcu_fives_f32_set(glowmcu_fives_f32 *fives, const glowmcu_window_f32 *p,
    int32_t channels)
{
    fives->window = p;
    fives->channels = channels;
}

/* `blocks` of four channels, at `weights`, of five pixels; windows begin `step` floats apart. */
GLOWMCU_CODE
static inline void glowmcu_fives_f32_compute(glowmcu_fives_f32 *fives, const float *weights,
    int32_t blocks, const float *x, int32_t step, float *out)
{
    const int32_t floats = 4 * (glowmcu_window_products(fives->window) + 1);
    float results[5][4];

    for (int32_t block = 0; block < blocks; ++block, weights += floats) {
        for (int32_t pixel = 0; pixel < 5; ++pixel) {
            glowmcu_window_f32_block(fives->window, x + pixel * step, weights, 4, results[pixel]);
        }
        for (int32_t pixel = 0; pixel < 5; ++pixel) {
            (void)memcpy(out + pixel * fives->channels + 4 * block, results[pixel],
                sizeof results[pixel]);
        }
    }
}
#endif

/* Blocks of four channels of `pixels` pixels, 1 or 2. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_fours(const glowmcu_window_f32 *p, int32_t pixels)
{
#if GLOWMCU_HAS_FPU
    if (pixels == 2) {
        glowmcu_window_f32_2x4(p);
    } else {
        glowmcu_window_f32_1x4(p);
    }
#else
    glowmcu_window_f32_blocks(p, pixels, 4);
#endif
}

/* As glowmcu_fives_f32_compute. */
typedef void (*glowmcu_fives_run)(glowmcu_fives_f32 *fives, const float *weights, int32_t blocks,
    const float *x, int32_t step, float *out);

/*
 * As glowmcu_window_row: in fives, which `run` computes, where a row has two products or more, in
 * pairs, and one. Channels of a five that fill no four are what `last_run` computes, pairs if NULL.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_fives_pixels(glowmcu_window_f32 *p,
    glowmcu_fives_run run, glowmcu_fives_run last_run, const void *weights, int32_t block_bytes,
    int32_t channels, const float *x, int32_t step, float *out, int32_t count)
{
    const int32_t fours = channels >> 2;
    const int32_t left = channels & 3;
    const int32_t in_fives = (fours > 0 && 4 * p->fours + p->ones > 1) ? 1 : 0;
    glowmcu_fives_f32 fives;
    int32_t begun = 0; /* pixels of a five that lack what is left of the channels */

    glowmcu_fives_f32_set(&fives, p, channels);
    while (count > 0) {
        int32_t pixels = 5;

        if (in_fives && begun == 0 && count >= 5) {
            run(&fives, weights, fours, x, step, out);
            begun = 5;
            if (last_run != NULL) {
                last_run(&fives, (const float *)weights + fours * (block_bytes >> 2), 1, x, step,
                    out + 4 * fours);
            }
        }
        if (begun == 0 || (left > 0 && last_run == NULL)) {
            float last[2][4];
            int32_t block = (begun > 0) ? fours : 0;

            pixels = (count > 1 && begun != 1) ? 2 : 1;
            p->in[0] = x;
            p->in[1] = x + (pixels - 1) * step;
            p->out[0] = out;
            p->out[1] = out + (pixels - 1) * channels;
            for (; 4 * block < channels; block += p->blocks) {
                p->weights = (const uint8_t *)weights + block * block_bytes;
                p->blocks = (block < fours) ? fours : 1;
                if (block == fours) {
                    p->out[0] = last[0];
                    p->out[1] = last[1];
                }
                glowmcu_window_f32_fours(p, pixels);
            }
            for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                (void)memcpy(out + pixel * channels + 4 * fours, last[pixel],
                    (size_t)left * sizeof last[0][0]);
            }
        }
        begun -= (begun > 0) ? pixels : 0;
        x += pixels * step;
        out += pixels * channels;
        count -= pixels;
    }
}

#endif /* GLOWMCU_FIVES_F32_H */

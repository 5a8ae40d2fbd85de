/*
 * glowmcu_depthwise_windows.h: float depthwise convolution with one result a channel, NHWC, two
 * pixels by eight channels at a time.
 *
 * Every sum starts at 0 and takes its products one after the other, each rounded by itself, in the
 * order of rows and columns; the bias comes last.
 */
#ifndef GLOWMCU_DEPTHWISE_WINDOWS_H
#define GLOWMCU_DEPTHWISE_WINDOWS_H

#include <string.h>

#include "glowmcu_fpu.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels; /* as many as a block has, or more */
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t inside_first; /* columns of results [inside_first, inside_end) whose windows begin */
    int32_t inside_end;   /* and end inside the image */
    int32_t clamping;     /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    int32_t width;        /* channels of a block: 8 or 4 */
    const void *weights;  /* blocks: [taps][width], floats or int8, then [width] scales of int8, and
                             [width] biases; the last one ends with the last channel and may share
                             some with the one before */
} glowmcu_depthwise_packed_real;

/* One or two pixels and the windows under them, which look alike; distances are in floats. */
typedef struct {
    const float *in[2]; /* the windows' first taps inside the image */
    float *out[2];
    const void *weights;
    int32_t blocks;  /* at least 1 */
    int32_t rows;    /* of taps inside the image, at least 1 */
    int32_t columns; /* at least 1 */
    int32_t step;    /* from tap to tap */
    int32_t in_gap;  /* from one step past a row's last tap to the next row's first */
    int32_t before;  /* taps of a block above and to the left of the image */
    int32_t between; /* taps outside from row to row */
    int32_t after;   /* taps below and to the right of the image */
    int32_t clamping; /* as glowmcu_clamps_now says */
    float clamp_min;
    float clamp_max;
} glowmcu_depthwise_window_f32;

/* Computes blocks of `width` channels, 8 or 4, of `pixels` pixels, 1 or 2; inputs move on. */
typedef void (*glowmcu_depthwise_blocks)(glowmcu_depthwise_window_f32 *p, int32_t pixels,
    int32_t width);

#if GLOWMCU_HAS_FPU
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_window_f32, clamp_max) == 60,
    depthwise_window_is_as_assembly_reads);

/* One tap of eight channels or four: inputs become products, then parts of the sums. */
#if GLOWMCU_HAS_FLOAT_VECTORS
#define GLOWMCU_TAP_8(x, first, second) \
    "vldrw.32 q6, [%[" x "]]\n" \
    "vldrw.32 q7, [%[" x "], #16]\n" \
    "vmul.f32 q6, q6, q4\n" \
    "vmul.f32 q7, q7, q5\n" \
    "add %[" x "], %[" x "], %[step], lsl #2\n" \
    "vadd.f32 " first ", " first ", q6\n" \
    "vadd.f32 " second ", " second ", q7\n"
#define GLOWMCU_TAP_A8 GLOWMCU_TAP_8("a", "q0", "q1")
#define GLOWMCU_TAP_B8 GLOWMCU_TAP_8("b", "q2", "q3")
#define GLOWMCU_TAP_4(x, sums) \
    "vldrw.32 q6, [%[" x "]]\n" \
    "add %[" x "], %[" x "], %[step], lsl #2\n" \
    "vmul.f32 q6, q6, q4\n" \
    "vadd.f32 " sums ", " sums ", q6\n"
#define GLOWMCU_TAP_A4 GLOWMCU_TAP_4("a", "q0")
#define GLOWMCU_TAP_B4 GLOWMCU_TAP_4("b", "q2")
#else
#define GLOWMCU_TIMES(x, w) "vmul.f32 " x ", " x ", " w "\n"
#define GLOWMCU_TIMES_4(x0, x1, x2, x3, w0, w1, w2, w3) \
    GLOWMCU_TIMES(x0, w0) GLOWMCU_TIMES(x1, w1) GLOWMCU_TIMES(x2, w2) GLOWMCU_TIMES(x3, w3)

#define GLOWMCU_TAP_8(x, a0, a1, a2, a3, a4, a5, a6, a7) \
    "vldmia %[" x "], {s24-s31}\n" \
    GLOWMCU_TIMES_4("s24", "s25", "s26", "s27", "s16", "s17", "s18", "s19") \
    GLOWMCU_TIMES_4("s28", "s29", "s30", "s31", "s20", "s21", "s22", "s23") \
    "add %[" x "], %[" x "], %[step], lsl #2\n" \
    GLOWMCU_ADD_4(a0, a1, a2, a3, "s24", "s25", "s26", "s27") \
    GLOWMCU_ADD_4(a4, a5, a6, a7, "s28", "s29", "s30", "s31")
#define GLOWMCU_TAP_A8 GLOWMCU_TAP_8("a", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")
#define GLOWMCU_TAP_B8 GLOWMCU_TAP_8("b", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15")
#define GLOWMCU_TAP_4(x, a0, a1, a2, a3) \
    "vldmia %[" x "], {s24-s27}\n" \
    GLOWMCU_TIMES_4("s24", "s25", "s26", "s27", "s16", "s17", "s18", "s19") \
    "add %[" x "], %[" x "], %[step], lsl #2\n" \
    GLOWMCU_ADD_4(a0, a1, a2, a3, "s24", "s25", "s26", "s27")
#define GLOWMCU_TAP_A4 GLOWMCU_TAP_4("a", "s0", "s1", "s2", "s3")
#define GLOWMCU_TAP_B4 GLOWMCU_TAP_4("b", "s8", "s9", "s10", "s11")
#endif

/* What is not a number is in its own channel alone. */
#define GLOWMCU_CHECK_A4 GLOWMCU_CHECK("s0", "s1") GLOWMCU_CHECK("s2", "s3")
#define GLOWMCU_CHECK_A8 GLOWMCU_CHECK_A4 GLOWMCU_CHECK("s4", "s5") GLOWMCU_CHECK("s6", "s7")
#define GLOWMCU_CHECK_B4 GLOWMCU_CHECK("s8", "s9") GLOWMCU_CHECK("s10", "s11")
#define GLOWMCU_CHECK_B8 GLOWMCU_CHECK_B4 GLOWMCU_CHECK("s12", "s13") GLOWMCU_CHECK("s14", "s15")

/*
 * Labels: 1 block, 2 row, 3 tap, 4 the last row's end. A block's weights of a tap take 2 to the
 * power of `shift` bytes, its inputs `bytes`; `more` are registers that weights need.
 */
#define GLOWMCU_DEPTHWISE_LOOPS(shift, bytes, zero, weights_and_taps, finish, more) \
    __asm__ volatile( \
        "1:\n" \
        "ldr %[n], [%[p], #40]\n" \
        "ldr %[a], [%[p], #0]\n" \
        "ldr %[b], [%[p], #4]\n" \
        "ldr %[m], [%[p], #24]\n" \
        "add %[w], %[w], %[n], lsl #" shift "\n" \
        "add %[n], %[a], #" bytes "\n" \
        "str %[n], [%[p], #0]\n" \
        "add %[n], %[b], #" bytes "\n" \
        "str %[n], [%[p], #4]\n" \
        "movs %[n], #0\n" \
        zero \
        "2:\n" \
        "ldr %[n], [%[p], #28]\n" \
        "3:\n" \
        weights_and_taps \
        "subs %[n], %[n], #1\n" \
        "bne 3b\n" \
        "subs %[m], %[m], #1\n" \
        "beq 4f\n" \
        "ldr %[n], [%[p], #36]\n" \
        "add %[a], %[a], %[n], lsl #2\n" \
        "add %[b], %[b], %[n], lsl #2\n" \
        "ldr %[n], [%[p], #44]\n" \
        "add %[w], %[w], %[n], lsl #" shift "\n" \
        "b 2b\n" \
        "4:\n" \
        "ldr %[n], [%[p], #48]\n" \
        "add %[w], %[w], %[n], lsl #" shift "\n" \
        finish \
        "subs %[blocks], %[blocks], #1\n" \
        "bne 1b\n" \
        : [a] "=&r"(a), [b] "=&r"(b), [n] "=&r"(n), [m] "=&r"(m), [w] GLOWMCU_AT_WEIGHTS(w), \
          [y] "+r"(y), [z] "+r"(z), [blocks] "+r"(blocks) more \
        : [p] "r"(p), [step] "r"(p->step) \
        : "cc", "memory", GLOWMCU_ALL_FLOATS)
#define GLOWMCU_DEPTHWISE_VARIABLES \
    const float *a; \
    const float *b; \
    const void *w = p->weights; \
    float *y = p->out[0]; \
    float *z = p->out[1]; \
    int32_t n; \
    int32_t m; \
    int32_t blocks = p->blocks
#else
/* Taps of one block, those outside the image included. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_taps(const glowmcu_depthwise_window_f32 *p)
{
    return p->before + p->after + (p->rows - 1) * p->between + p->rows * p->columns;
}

/* Results of a block, when all of them are computed; inputs move on to the next block's. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_store(glowmcu_depthwise_window_f32 *p, int32_t channel,
    int32_t pixels, int32_t width, float results[2][8])
{
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        (void)memcpy(p->out[pixel] + channel, results[pixel],
            (size_t)width * sizeof results[0][0]);
        p->in[pixel] += width;
    }
}
#endif

/* What the columns `xs` and rows `ys` of the taps say of a window. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_taps_window(const glowmcu_depthwise_packed_real *p,
    glowmcu_taps ys, glowmcu_taps xs, glowmcu_depthwise_window_f32 *window)
{
    window->rows = ys.end - ys.first;
    window->columns = xs.end - xs.first;
    window->in_gap = p->dilation_y * p->in_width * p->channels - window->columns * window->step;
    window->before = ys.first * p->kernel_width + xs.first;
    window->between = p->kernel_width - window->columns;
    window->after = (p->kernel_height - ys.end) * p->kernel_width + p->kernel_width - xs.end;
}

/*
 * `count` pixels side by side whose windows look alike and begin `next` floats apart, in pairs.
 * Each channel has `channel_bytes` of weights, scale and bias.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_pixels(const glowmcu_depthwise_packed_real *p,
    glowmcu_depthwise_blocks compute, int32_t channel_bytes, glowmcu_depthwise_window_f32 *window,
    const float *x, float *out, int32_t count)
{
    const int32_t next = p->stride_x * p->channels;
    const int32_t blocks = (p->width == 8) ? p->channels >> 3 : p->channels >> 2;
    const int32_t done = blocks * p->width;
    const int32_t left = p->channels - p->width; /* where the last block begins, if it is another */

    while (count > 0) {
        const int32_t pixels = (count > 1) ? 2 : 1;
        const int32_t second = pixels - 1;
        window->in[0] = x;
        window->in[1] = x + second * next;
        window->out[0] = out;
        window->out[1] = out + second * p->channels;
        window->weights = p->weights;
        window->blocks = blocks;
        compute(window, pixels, p->width);
        if (done < p->channels) {
            window->in[0] = x + left;
            window->in[1] = x + second * next + left;
            window->out[0] = out + left;
            window->out[1] = out + second * p->channels + left;
            window->weights = (const uint8_t *)p->weights + done * channel_bytes;
            window->blocks = 1;
            compute(window, pixels, p->width);
        }
        x += pixels * next;
        out += pixels * p->channels;
        count -= pixels;
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Every window has a tap
 * inside the image. Pairs of columns inside it are computed together, other columns alone;
 * results may overwrite input that nothing reads any more. A channel has `tap_bytes` of weights a
 * tap and `last_bytes` behind them.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_windows(const glowmcu_depthwise_packed_real *p,
    glowmcu_depthwise_blocks compute, int32_t tap_bytes, int32_t last_bytes, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    const int32_t channel_bytes = tap_bytes * p->kernel_height * p->kernel_width + last_bytes;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t results = (end_row - first_row) * p->out_width * p->channels;
    const uint32_t mode = glowmcu_floats_begin();
    glowmcu_depthwise_window_f32 window;

    window.step = p->dilation_x * p->channels;
    window.clamping = glowmcu_clamps_now(p->clamping, p->clamp_min, p->clamp_max);
    window.clamp_min = p->clamp_min;
    window.clamp_max = p->clamp_max;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        int32_t ox = 0;
        ys.origin -= in_row; /* rows are counted from `in` */
        while (ox < p->out_width) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const int32_t is_inside = (ox >= p->inside_first && ox < p->inside_end) ? 1 : 0;
            const int32_t count = is_inside ? p->inside_end - ox : 1;
            glowmcu_depthwise_taps_window(p, ys, xs, &window);
            glowmcu_depthwise_pixels(p, compute, channel_bytes, &window,
                in + ((ys.origin + ys.first * p->dilation_y) * p->in_width + xs.origin
                    + xs.first * p->dilation_x) * p->channels, out, count);
            out += count * p->channels;
            ox += count;
        }
    }
    glowmcu_floats_end(mode, p->clamping, p->clamp_min, p->clamp_max, out - results, results);
}

#endif /* GLOWMCU_DEPTHWISE_WINDOWS_H */

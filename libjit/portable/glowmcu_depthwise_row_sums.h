/*
 * glowmcu_depthwise_row_sums.h: int8 depthwise convolution whose result is one row, from input rows
 * that come in parts. NHWC input, HWC weights.
 */
#ifndef GLOWMCU_DEPTHWISE_ROW_SUMS_H
#define GLOWMCU_DEPTHWISE_ROW_SUMS_H

#include "glowmcu_dsp.h"
#include "glowmcu_requantize.h"
#include "glowmcu_window.h"

/* For loops that need all registers: where they are inlined, compilers keep too little in them. */
#if defined(__GNUC__) || defined(__clang__)
#define GLOWMCU_ROW_SUMS_LOOP __attribute__((noinline)) static
#else
#define GLOWMCU_ROW_SUMS_LOOP static
#endif

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t depth_multiplier; /* output channels that read one input channel */
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t starts_step;        /* from one output pixel's starts to the next one's */
    const int32_t *starts;      /* bias - zero point * sum of the weights inside the image */
    const int8_t *weights;      /* [kernel_height][kernel_width][out_channels] */
    const int32_t *multipliers; /* [out_channels] */
    const int8_t *shifts;       /* [out_channels] */
} glowmcu_depthwise_row_sums;

#if GLOWMCU_HAS_DSP
/* Adds the products of 4 * `fours` bytes, at least 4, to as many sums. */
GLOWMCU_CODE
static inline void glowmcu_add_fours(const int8_t *x, const int8_t *w, int32_t *sums,
    int32_t fours)
{
    __asm__ volatile(
        "1:\n"
        "ldr r4, [%0], #4\n"
        "ldr r5, [%1], #4\n"
        "ldmia %2, {r8, r9, r10, r11}\n"
        "sxtb16 r6, r4\n"
        "sxtb16 lr, r5\n"
        "sxtb16 r4, r4, ror #8\n"
        "sxtb16 r5, r5, ror #8\n"
        "smlabb r8, r6, lr, r8\n"
        "smlabb r9, r4, r5, r9\n"
        "smlatt r10, r6, lr, r10\n"
        "smlatt r11, r4, r5, r11\n"
        "stmia %2!, {r8, r9, r10, r11}\n"
        "subs %3, %3, #1\n"
        "bne 1b\n"
        : "+r"(x), "+r"(w), "+r"(sums), "+r"(fours)
        :
        : "r4", "r5", "r6", "r8", "r9", "r10", "r11", "lr", "cc", "memory");
}
#endif

/* Adds the products of `count` bytes to as many sums. */
GLOWMCU_CODE
static inline void glowmcu_add_products(const int8_t *x, const int8_t *w, int32_t *sums,
    int32_t count)
{
    for (; count > 0; --count) {
        *sums = glowmcu_wrapping_add(*sums, *x * *w);
        ++x;
        ++w;
        ++sums;
    }
}

/* Adds one tap, pixel `x` with weights `w`, to the sums of all channels of one output pixel. */
GLOWMCU_ROW_SUMS_LOOP void glowmcu_depthwise_add_tap(const glowmcu_depthwise_row_sums *p,
    const int8_t *x, const int8_t *w, int32_t *sums)
{
    int32_t count = p->in_channels;

    if (p->depth_multiplier == 1) {
#if GLOWMCU_HAS_DSP
        if (count >= 4) {
            const int32_t done = count & ~3;
            glowmcu_add_fours(x, w, sums, count >> 2);
            x += done;
            w += done;
            sums += done;
            count -= done;
        }
#endif
        glowmcu_add_products(x, w, sums, count);
        return;
    }
    for (; count > 0; --count, ++x) {
        for (int32_t m = p->depth_multiplier; m > 0; --m) {
            *sums = glowmcu_wrapping_add(*sums, *x * *w);
            ++sums;
            ++w;
        }
    }
}

GLOWMCU_ROW_SUMS_LOOP void glowmcu_depthwise_row_results(const glowmcu_depthwise_row_sums *p,
    const int32_t *sums, int8_t *out)
{
    const int32_t out_channels = p->in_channels * p->depth_multiplier;
    const int32_t zero_point = p->out_zero_point;
    const int32_t clamp_min = p->clamp_min;
    const int32_t clamp_max = p->clamp_max;

    for (int32_t ox = 0; ox < p->out_width; ++ox) {
        const int32_t *multipliers = p->multipliers;
        const int8_t *shifts = p->shifts;
        for (int32_t oc = 0; oc < out_channels; ++oc) {
            const int32_t value = glowmcu_requantize(*sums, *multipliers, *shifts);
            *out = (int8_t)glowmcu_clamp(value + zero_point, clamp_min, clamp_max);
            ++sums;
            ++multipliers;
            ++shifts;
            ++out;
        }
    }
}

/* The first row of taps that lies at input row `y` or below. */
GLOWMCU_CODE
static inline int32_t glowmcu_first_tap(const glowmcu_depthwise_row_sums *p, int32_t y)
{
    int32_t tap = y + p->pad_top;

    if (p->dilation_y > 1) {
        tap = (tap + p->dilation_y - 1) / p->dilation_y;
    }
    return (tap < p->kernel_height) ? tap : p->kernel_height;
}

/*
 * Input rows [first_row, end_row), which begin at `in`; of those only what the window sees is read.
 * Row 0 starts the sums, which `scratch` (4 bytes a result, aligned to 4) keeps; with the last row
 * of the image results are written, when no more of `in` is to be read: `out` may overwrite `in`,
 * but scratch may overlap neither. Sums are over x, not x - zero point, modulo 2^32; what they end
 * as fits.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_depthwise_row_sums_s8(const glowmcu_depthwise_row_sums *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const int32_t out_channels = p->in_channels * p->depth_multiplier;
    const int32_t first_tap = glowmcu_first_tap(p, first_row);
    const int32_t end_tap = glowmcu_first_tap(p, end_row);
    int32_t *sums = (int32_t *)(void *)scratch;
    const int32_t *starts = p->starts;

    for (int32_t ox = 0; ox < p->out_width; ++ox, sums += out_channels) {
        const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
            p->kernel_width, p->dilation_x, p->in_width);
        if (first_row == 0) {
            (void)memcpy(sums, starts, (size_t)out_channels * sizeof *sums);
            starts += p->starts_step;
        }
        for (int32_t ky = first_tap; ky < end_tap; ++ky) {
            const int32_t y = ky * p->dilation_y - p->pad_top - first_row;
            for (int32_t kx = xs.first; kx < xs.end; ++kx) {
                const int32_t x = xs.origin + kx * p->dilation_x;
                glowmcu_depthwise_add_tap(p, in + (y * p->in_width + x) * p->in_channels,
                    p->weights + (ky * p->kernel_width + kx) * out_channels, sums);
            }
        }
    }
    if (end_row == p->in_height) {
        glowmcu_depthwise_row_results(p, (const int32_t *)(const void *)scratch, out);
    }
}

#endif /* GLOWMCU_DEPTHWISE_ROW_SUMS_H */

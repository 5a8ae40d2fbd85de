/*
 * glowmcu_wide_depthwise_mve.h: int16 depthwise convolution with int8 weights, eight channels of a
 * pixel at a time.
 *
 * For each eight channels, the last ones with zeros, the stream has eight bytes of weights a tap,
 * then biases, multipliers in upper halves and shifts, negative: of each the four of even channels,
 * then those of odd ones.
 */
#ifndef GLOWMCU_WIDE_DEPTHWISE_MVE_H
#define GLOWMCU_WIDE_DEPTHWISE_MVE_H

#include "glowmcu_mve.h"
#include "glowmcu_requantize.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t clamp_min;
    int32_t clamp_max;
    const int32_t *stream;
} glowmcu_wide_depthwise_vectors;

/* The taps of a window; steps are elements of the image, and bytes of weights that are left out. */
typedef struct {
    int32_t rows;
    int32_t taps;
    int32_t step;
    int32_t line;
    int32_t before;
    int32_t between;
} glowmcu_wide_vector_taps;

/* `left` channels at `x`, at most eight, whose weights begin at `w`. */
GLOWMCU_CODE
static inline void glowmcu_wide_depthwise_eight(const glowmcu_wide_depthwise_vectors *p,
    const glowmcu_wide_vector_taps *k, const int16_t *x, const int8_t *w, const int32_t *scales,
    int32_t left, int16_t *out)
{
#if GLOWMCU_HAS_MVE
    const mve_pred16_t inside = vctp16q((uint32_t)left);
    int32x4_t even = vldrwq_s32(scales);
    int32x4_t odd = vldrwq_s32(scales + 4);
    int16x8_t result = vdupq_n_s16(0);

    w += k->before;
    for (int32_t row = k->rows; row > 0; --row) {
        const int16_t *at = x;
        for (int32_t tap = k->taps; tap > 0; --tap) {
            const int16x8_t image = vldrhq_z_s16(at, inside);
            const int16x8_t weights = vldrbq_s16(w);

            even = vaddq_s32(even, vmullbq_int_s16(image, weights));
            odd = vaddq_s32(odd, vmulltq_int_s16(image, weights));
            at += k->step;
            w += 8;
        }
        x += k->line;
        w += k->between;
    }
    even = vrshlq_s32(vmulhq_s32(even, vldrwq_s32(scales + 8)), vldrwq_s32(scales + 16));
    odd = vrshlq_s32(vmulhq_s32(odd, vldrwq_s32(scales + 12)), vldrwq_s32(scales + 20));
    result = vqmovnbq_s32(result, even);
    result = vqmovntq_s32(result, odd);
    result = vmaxq_s16(result, vdupq_n_s16((int16_t)p->clamp_min));
    result = vminq_s16(result, vdupq_n_s16((int16_t)p->clamp_max));
    vstrhq_p_s16(out, result, inside);
#else
    for (int32_t lane = 0; lane < left && lane < 8; ++lane) {
        const int32_t *own = scales + 4 * (lane % 2) + lane / 2;
        const int16_t *top = x;
        const int8_t *row_of = w + k->before;
        int64_t sum = own[0];
        int32_t value;

        for (int32_t row = k->rows; row > 0; --row) {
            for (int32_t tap = 0; tap < k->taps; ++tap) {
                sum += top[tap * k->step + lane] * row_of[8 * tap + lane];
            }
            top += k->line;
            row_of += 8 * k->taps + k->between;
        }
        sum = (sum * (own[8] >> 16)) >> 16;
        value = (int32_t)((sum + (int64_t)(((uint64_t)1 << -own[16]) >> 1)) >> -own[16]);
        out[lane] = (int16_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
    }
#endif
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_wide_depthwise_mve_s16(const glowmcu_wide_depthwise_vectors *p,
    const int16_t *in, int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t words = p->kernel_height * p->kernel_width * 2;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t line = p->in_width * p->channels;
    glowmcu_wide_vector_taps k;

    k.step = p->dilation_x * p->channels;
    k.line = p->dilation_y * line;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top,
            p->kernel_height, p->dilation_y, p->in_height);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const int32_t *w = p->stream;
            const int16_t *x = in;

            k.rows = ys.end - ys.first;
            k.taps = xs.end - xs.first;
            k.before = 8 * (ys.first * p->kernel_width + xs.first);
            k.between = 8 * (p->kernel_width - k.taps);
            if (k.rows > 0 && k.taps > 0) {
                x += (ys.origin - in_row + ys.first * p->dilation_y) * line
                    + (xs.origin + xs.first * p->dilation_x) * p->channels;
            }
            for (int32_t c = 0; c < p->channels; c += 8) {
                glowmcu_wide_depthwise_eight(p, &k, x + c, (const int8_t *)w, w + words,
                    p->channels - c, out + c);
                w += words + 24;
            }
            out += p->channels;
        }
    }
}

#endif /* GLOWMCU_WIDE_DEPTHWISE_MVE_H */

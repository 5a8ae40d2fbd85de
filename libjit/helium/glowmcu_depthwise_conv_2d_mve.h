/*
 * glowmcu_depthwise_conv_2d_mve.h: int8 depthwise convolution, eight channels at a time.
 *
 * Where channels are no multiple of 8, the last eight overlap those before and are computed again.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_MVE_H
#define GLOWMCU_DEPTHWISE_CONV_2D_MVE_H

#include "glowmcu_scale_mve.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t channels; /* at least 8 */
    int32_t kernel_height;
    glowmcu_scale_mve scale;
    /*
     * For eight channels after eight: weights [kernel_height][kernel_width][8] of int8, then
     * constants of the scale, of even and of odd channels in turn.
     */
    const int32_t *stream;
    int32_t kernel_width;
    int32_t in_height;
    int32_t in_width;
    int32_t out_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
} glowmcu_depthwise_conv_2d_mve;

/* The taps of one output pixel that are inside the image; steps are in bytes. */
typedef struct {
    const int8_t *x;
    int32_t row_step;
    int32_t tap_step;
    int32_t rows;
    int32_t taps;
    int32_t skipped; /* weights before the first tap */
    int32_t weights_row; /* from a row's weights to the next one's */
} glowmcu_depthwise_mve_window;

/* Eight channels of one pixel. `x` and `w` point to the first tap's. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_mve_eight(const glowmcu_depthwise_conv_2d_mve *p,
    const glowmcu_depthwise_mve_window *window, const int8_t *x, const int8_t *w, const int32_t *c,
    int8_t *out)
{
#if GLOWMCU_HAS_MVE
    const int16_t zero_point = (int16_t)p->in_zero_point;
    int32x4_t even = vdupq_n_s32(0);
    int32x4_t odd = vdupq_n_s32(0);

    for (int32_t row = window->rows; row > 0; --row) {
        const int8_t *xs = x;
        const int8_t *ws = w;
        for (int32_t tap = window->taps; tap > 0; --tap) {
            const int16x8_t offset = vsubq_n_s16(vldrbq_s16(xs), zero_point);
            const int16x8_t weights = vldrbq_s16(ws);
            even = vaddq_s32(even, vmullbq_int_s16(offset, weights));
            odd = vaddq_s32(odd, vmulltq_int_s16(offset, weights));
            xs += window->tap_step;
            ws += 8;
        }
        x += window->row_step;
        w += window->weights_row;
    }
    glowmcu_scale_mve_store8(&p->scale, even, odd, c, out);
#else
    for (int32_t oc = 0; oc < 8; ++oc) {
        int32_t sum = 0; /* within int32: the layer's comment has the bound */
        for (int32_t row = 0; row < window->rows; ++row) {
            for (int32_t tap = 0; tap < window->taps; ++tap) {
                sum += (x[row * window->row_step + tap * window->tap_step + oc] - p->in_zero_point)
                    * w[row * window->weights_row + tap * 8 + oc];
            }
        }
        out[oc] = glowmcu_scale_mve_one(&p->scale, sum, c + 4 * (oc % 2) + oc / 2, 8);
    }
#endif
}

GLOWMCU_CODE
static inline glowmcu_depthwise_mve_window glowmcu_depthwise_mve_taps(
    const glowmcu_depthwise_conv_2d_mve *p, const int8_t *in, glowmcu_taps ys, glowmcu_taps xs)
{
    const int32_t image_row = p->in_width * p->channels;
    glowmcu_depthwise_mve_window window;

    window.x = in + (ys.origin + ys.first * p->dilation_y) * image_row
        + (xs.origin + xs.first * p->dilation_x) * p->channels;
    window.row_step = p->dilation_y * image_row;
    window.tap_step = p->dilation_x * p->channels;
    window.rows = ys.end - ys.first;
    window.taps = xs.end - xs.first;
    window.skipped = 8 * (ys.first * p->kernel_width + xs.first);
    window.weights_row = 8 * p->kernel_width;
    return window;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_conv_2d_mve_s8(const glowmcu_depthwise_conv_2d_mve *p,
    const int8_t *in, int8_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t weights_words = 2 * p->kernel_height * p->kernel_width;
    const int32_t constants_words = 8 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        ys.origin -= in_row; /* rows are counted from `in` */
        for (int32_t ox = 0; ox < p->out_width; ++ox, out += p->channels) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const glowmcu_depthwise_mve_window window = glowmcu_depthwise_mve_taps(p, in, ys, xs);
            const int32_t *stream = p->stream;
            int32_t oc = 0;
            for (;;) {
                glowmcu_depthwise_mve_eight(p, &window, window.x + oc,
                    (const int8_t *)stream + window.skipped, stream + weights_words, out + oc);
                if (oc + 8 >= p->channels) {
                    break;
                }
                oc = (oc + 16 <= p->channels) ? oc + 8 : p->channels - 8;
                stream += weights_words + constants_words;
            }
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_MVE_H */

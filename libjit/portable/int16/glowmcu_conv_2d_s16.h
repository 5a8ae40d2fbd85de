/*
 * glowmcu_conv_2d_s16.h: int16 convolution, NHWC input, OHWI int8 weights, grouped and dilated too.
 */
#ifndef GLOWMCU_CONV_2D_S16_H
#define GLOWMCU_CONV_2D_S16_H

#include "glowmcu_wide.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t out_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t group_channels; /* input channels that one output channel reads */
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    glowmcu_wide_scale scale;
    const int8_t *weights; /* [out_channels][kernel_height][kernel_width][group_channels] */
} glowmcu_conv_2d_wide;

/* Sums of `count` (1 or 4) neighbouring output channels at one output pixel. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_wide_sums(const glowmcu_conv_2d_wide *p, const int16_t *in,
    const int8_t *weights, glowmcu_taps ys, glowmcu_taps xs, int32_t count, int64_t acc[4])
{
    const int32_t depth = p->group_channels;
    const int32_t tap_row = p->kernel_width * depth;
    const int32_t filter = p->kernel_height * tap_row;
    /* Taps that are neighbours in both tensors are one long inner product. */
    const int32_t is_run = (p->dilation_x == 1 && depth == p->in_channels) ? 1 : 0;
    const int32_t together = is_run ? xs.end - xs.first : 1;

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        const int32_t in_y = ys.origin + ky * p->dilation_y;
        for (int32_t kx = xs.first; kx < xs.end; kx += together) {
            const int32_t in_x = xs.origin + kx * p->dilation_x;
            const int16_t *x = in + (in_y * p->in_width + in_x) * p->in_channels;
            const int8_t *w = weights + ky * tap_row + kx * depth;
            if (count == 4) {
                glowmcu_wide_dot4(x, w, filter, together * depth, acc);
            } else {
                acc[0] = glowmcu_wide_dot(x, w, together * depth, acc[0]);
            }
        }
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_s16(const glowmcu_conv_2d_wide *p, const int16_t *in, int16_t *out,
    int32_t first_row, int32_t end_row)
{
    const int32_t filter = p->kernel_height * p->kernel_width * p->group_channels;
    const int32_t group_outputs = p->out_channels / (p->in_channels / p->group_channels);
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int16_t *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        ys.origin -= in_row; /* rows are counted from `in` */
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            int32_t oc = 0;
            while (oc < p->out_channels) {
                const int32_t group = oc / group_outputs;
                const int32_t left = (group + 1) * group_outputs - oc;
                const int32_t count = (left >= 4) ? 4 : 1;
                int64_t acc[4] = {0, 0, 0, 0};
                glowmcu_conv_2d_wide_sums(p, in + group * p->group_channels,
                    p->weights + oc * filter, ys, xs, count, acc);
                for (int32_t i = 0; i < count; ++i, ++oc) {
                    *pixel = glowmcu_wide_result(&p->scale, oc, acc[i]);
                    ++pixel;
                }
            }
        }
    }
}

#endif /* GLOWMCU_CONV_2D_S16_H */

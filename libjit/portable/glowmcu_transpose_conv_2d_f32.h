/*
 * glowmcu_transpose_conv_2d_f32.h: float transposed convolution, NHWC input, OHWI weights, grouped
 * and dilated too. Every result gathers what reaches it.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_2D_F32_H
#define GLOWMCU_TRANSPOSE_CONV_2D_F32_H

#include "glowmcu_clamping.h"
#include "glowmcu_sources.h"

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
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
} glowmcu_transpose_conv_2d_real;

/* The input position that `place` of the uncut result gets from, or -1. */
GLOWMCU_CODE
static inline int32_t glowmcu_source_of(int32_t place, int32_t stride, int32_t size)
{
    const int32_t position = (place < 0) ? -1 : place / stride;

    return (position >= 0 && position < size && position * stride == place) ? position : -1;
}

/* Adds one tap's products to all output channels of a pixel. */
GLOWMCU_CODE
static inline void glowmcu_transpose_conv_2d_f32_tap(const glowmcu_transpose_conv_2d_real *p,
    const float *x, const float *weights, float *pixel)
{
    const int32_t depth = p->group_channels;
    const int32_t filter = p->kernel_height * p->kernel_width * depth;
    const int32_t group_outputs = p->out_channels / (p->in_channels / depth);

    for (int32_t first = 0; first < p->out_channels; first += group_outputs, x += depth) {
        for (int32_t oc = first; oc < first + group_outputs; ++oc, weights += filter) {
            float sum = 0.0f;
            for (int32_t ic = 0; ic < depth; ++ic) {
                sum += x[ic] * weights[ic];
            }
            pixel[oc] += sum;
        }
    }
}

/*
 * All taps of the pixel in column `ox`; `place_y` is its row before the padding is cut off. `in`
 * begins with row `in_row`.
 */
GLOWMCU_CODE
static inline void glowmcu_transpose_conv_2d_f32_pixel(const glowmcu_transpose_conv_2d_real *p,
    const float *in, int32_t in_row, const float *weights, int32_t place_y, int32_t ox,
    float *pixel)
{
    const int32_t depth = p->group_channels;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t iy = glowmcu_source_of(place_y - ky * p->dilation_y, p->stride_y,
            p->in_height);
        if (iy < 0) {
            continue;
        }
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int32_t ix = glowmcu_source_of(ox + p->pad_left - kx * p->dilation_x,
                p->stride_x, p->in_width);
            if (ix >= 0) {
                glowmcu_transpose_conv_2d_f32_tap(p,
                    in + ((iy - in_row) * p->in_width + ix) * p->in_channels,
                    weights + (ky * p->kernel_width + kx) * depth, pixel);
            }
        }
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows that reach them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more, and no other operand.
 * `weights` is [out_channels][kernel_height][kernel_width][group_channels], `bias` [out_channels].
 */
GLOWMCU_CODE
static void glowmcu_transpose_conv_2d_f32(const glowmcu_transpose_conv_2d_real *p,
    const float *in, const float *weights, const float *bias, float *out, int32_t first_row,
    int32_t end_row)
{
    const int32_t extent = (p->kernel_height - 1) * p->dilation_y + 1;
    const int32_t in_row = glowmcu_first_source(first_row, p->pad_top, extent, p->stride_y);
    float *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        for (int32_t ox = 0; ox < p->out_width; ++ox, pixel += p->out_channels) {
            for (int32_t oc = 0; oc < p->out_channels; ++oc) {
                pixel[oc] = bias[oc];
            }
            glowmcu_transpose_conv_2d_f32_pixel(p, in, in_row, weights, oy + p->pad_top, ox,
                pixel);
            for (int32_t oc = 0; oc < p->out_channels; ++oc) {
                pixel[oc] = glowmcu_clamped_f32(pixel[oc], p->clamping, p->clamp_min,
                    p->clamp_max);
            }
        }
    }
}

#endif /* GLOWMCU_TRANSPOSE_CONV_2D_F32_H */

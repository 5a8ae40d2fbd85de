/*
 * glowmcu_transpose_conv_2d_real.h: float transposed convolution, NHWC input, OHWI weights, grouped
 * and dilated too. Every result gathers what reaches it.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_2D_REAL_H
#define GLOWMCU_TRANSPOSE_CONV_2D_REAL_H

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

/* Adds the products of tap number `tap` to all output channels of a pixel. */
typedef void (*glowmcu_transpose_tap)(const glowmcu_transpose_conv_2d_real *p, const float *x,
    const void *weights, int32_t tap, float *pixel);

/*
 * All taps of the pixel in column `ox`; `place_y` is its row before the padding is cut off. `in`
 * begins with row `in_row`.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_transpose_conv_2d_pixel(
    const glowmcu_transpose_conv_2d_real *p, glowmcu_transpose_tap add, const float *in,
    int32_t in_row, const void *weights, int32_t place_y, int32_t ox, float *pixel)
{
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
                add(p, in + ((iy - in_row) * p->in_width + ix) * p->in_channels, weights,
                    ky * p->kernel_width + kx, pixel);
            }
        }
    }
}

#endif /* GLOWMCU_TRANSPOSE_CONV_2D_REAL_H */

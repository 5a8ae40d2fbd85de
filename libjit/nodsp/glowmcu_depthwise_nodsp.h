/*
 * glowmcu_depthwise_nodsp.h: what depthwise convolutions without DSP share: where the taps lie.
 */
#ifndef GLOWMCU_DEPTHWISE_NODSP_H
#define GLOWMCU_DEPTHWISE_NODSP_H

#include <string.h>

#include "glowmcu_scale_nodsp.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t out_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    const int8_t *weights; /* [out_channels][kernel_height * kernel_width] */
    glowmcu_scale scale;
} glowmcu_depthwise_nodsp;

/* Whether all taps of output pixel (oy, ox) lie in the image. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_is_inside(const glowmcu_depthwise_nodsp *p, int32_t oy,
    int32_t ox)
{
    const int32_t y = oy * p->stride_y - p->pad_top;
    const int32_t x = ox * p->stride_x - p->pad_left;

    return y >= 0 && y + (p->kernel_height - 1) * p->dilation_y < p->in_height && x >= 0
        && x + (p->kernel_width - 1) * p->dilation_x < p->in_width;
}

/*
 * The first channel of every tap of output pixel (oy, ox): in the image, of which `in` is row
 * `in_row`, or in `padding`.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_places(const glowmcu_depthwise_nodsp *p, const int8_t *in,
    int32_t in_row, const int8_t *padding, const int8_t **places, int32_t oy, int32_t ox)
{
    int32_t y = oy * p->stride_y - p->pad_top;
    const int32_t x_first = ox * p->stride_x - p->pad_left;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        int32_t x = x_first;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx, x += p->dilation_x) {
            const int32_t is_inside = (y >= 0 && y < p->in_height
                    && x >= 0 && x < p->in_width) ? 1 : 0;
            *places = is_inside ? in + ((y - in_row) * p->in_width + x) * p->in_channels : padding;
            ++places;
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_NODSP_H */

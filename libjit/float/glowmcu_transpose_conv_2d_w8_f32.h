/*
 * glowmcu_transpose_conv_2d_w8_f32.h: float transposed convolution with int8 weights, times a scale
 * an output channel, which multiplies a sum once, before the bias.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_2D_W8_F32_H
#define GLOWMCU_TRANSPOSE_CONV_2D_W8_F32_H

#include "glowmcu_transpose_conv_2d_real.h"

typedef struct {
    glowmcu_transpose_conv_2d_real layer;
    const int8_t *weights; /* [out_channels][kernel_height][kernel_width][group_channels] */
    const float *scales;   /* [out_channels] */
    const float *bias;     /* [out_channels] */
} glowmcu_transpose_conv_2d_w8_real;

/* As glowmcu_transpose_tap. */
GLOWMCU_CODE
static inline void glowmcu_w8_f32_tap(const glowmcu_transpose_conv_2d_real *p,
    const float *x, const void *weights, int32_t tap, float *pixel)
{
    const int32_t depth = p->group_channels;
    const int8_t *w = (const int8_t *)weights + tap * depth;
    const int32_t filter = p->kernel_height * p->kernel_width * depth;
    const int32_t group_outputs = p->out_channels / (p->in_channels / depth);

    for (int32_t first = 0; first < p->out_channels; first += group_outputs, x += depth) {
        for (int32_t oc = first; oc < first + group_outputs; ++oc, w += filter) {
            float sum = 0.0f;
            for (int32_t ic = 0; ic < depth; ++ic) {
                sum += x[ic] * (float)w[ic];
            }
            pixel[oc] += sum;
        }
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows that reach them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_transpose_conv_2d_w8_f32(const glowmcu_transpose_conv_2d_w8_real *p,
    const float *in, float *out, int32_t first_row, int32_t end_row)
{
    const glowmcu_transpose_conv_2d_real *layer = &p->layer;
    const int32_t extent = (layer->kernel_height - 1) * layer->dilation_y + 1;
    const int32_t in_row = glowmcu_first_source(first_row, layer->pad_top, extent,
        layer->stride_y);
    float *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        for (int32_t ox = 0; ox < layer->out_width; ++ox, pixel += layer->out_channels) {
            for (int32_t oc = 0; oc < layer->out_channels; ++oc) {
                pixel[oc] = 0.0f;
            }
            glowmcu_transpose_conv_2d_pixel(layer, glowmcu_w8_f32_tap, in,
                in_row, p->weights, oy + layer->pad_top, ox, pixel);
            for (int32_t oc = 0; oc < layer->out_channels; ++oc) {
                pixel[oc] = glowmcu_clamped_f32(pixel[oc] * p->scales[oc] + p->bias[oc],
                    layer->clamping, layer->clamp_min, layer->clamp_max);
            }
        }
    }
}

#endif /* GLOWMCU_TRANSPOSE_CONV_2D_W8_F32_H */

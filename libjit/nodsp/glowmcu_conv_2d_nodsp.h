/*
 * glowmcu_conv_2d_nodsp.h: int8 convolution for cores without DSP, two pixels at a time.
 */
#ifndef GLOWMCU_CONV_2D_NODSP_H
#define GLOWMCU_CONV_2D_NODSP_H

#include <string.h>

#include "glowmcu_pair_sums_nodsp.h"
#include "glowmcu_scale_pixels_nodsp.h"

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
    int32_t groups;        /* of four taps */
    int32_t extra_count;
    const uint8_t *weights;
    const int32_t *extras;
    glowmcu_scale scale;
} glowmcu_conv_2d_pairs;

/* Top left corner of a window in the image. */
typedef struct {
    int32_t y;
    int32_t x;
} glowmcu_corner;

GLOWMCU_CODE
static inline int32_t glowmcu_row_is_inside(const glowmcu_conv_2d_pairs *p, glowmcu_corner at)
{
    return at.y >= 0 && at.y < p->in_height && at.x >= 0
        && at.x + p->kernel_width <= p->in_width && p->dilation_x == 1;
}

/* The image from row `top` on, and a position of its padding. */
typedef struct {
    const int8_t *in;
    int32_t top;
    const int8_t *padding;
} glowmcu_pair_image;

/* One position of the image, or what padding holds. */
GLOWMCU_CODE
static inline const int8_t *glowmcu_position(const glowmcu_conv_2d_pairs *p,
    const glowmcu_pair_image *image, int32_t y, int32_t x)
{
    if (y < 0 || y >= p->in_height || x < 0 || x >= p->in_width) {
        return image->padding;
    }
    return image->in + ((y - image->top) * p->in_width + x) * p->in_channels;
}

/* The windows of two pixels, as a stream. */
GLOWMCU_CODE
static void glowmcu_pair_windows(const glowmcu_conv_2d_pairs *p, const glowmcu_pair_image *image,
    uint32_t *stream, glowmcu_corner a, glowmcu_corner b)
{
    glowmcu_pair_writer writer;

    writer.at = stream;
    writer.phase = 0;
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        if (glowmcu_row_is_inside(p, a) && glowmcu_row_is_inside(p, b)) {
            glowmcu_pair_write(&writer, glowmcu_position(p, image, a.y, a.x),
                glowmcu_position(p, image, b.y, b.x), p->kernel_width * p->in_channels);
        } else {
            for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
                const int32_t right = kx * p->dilation_x;
                glowmcu_pair_write(&writer, glowmcu_position(p, image, a.y, a.x + right),
                    glowmcu_position(p, image, b.y, b.x + right), p->in_channels);
            }
        }
        a.y += p->dilation_y;
        b.y += p->dilation_y;
    }
    glowmcu_pair_finish(&writer);
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * scratch: [5 * groups words][4 * output pairs words][in_channels bytes], 4-byte aligned.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_pairs_s8(const glowmcu_conv_2d_pairs *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    uint32_t *stream = (uint32_t *)(void *)scratch;
    const int32_t output_pairs = (p->out_channels + 1) >> 1;
    int8_t *pixel = out;
    int32_t left = (end_row - first_row) * p->out_width;
    glowmcu_pair_image image;
    glowmcu_pair_job job;
    int8_t *padding;
    int32_t oy = first_row;
    int32_t ox = 0;

    job.stream = stream;
    job.weights = p->weights;
    job.groups = p->groups;
    job.output_pairs = output_pairs;
    job.sums = (int32_t *)(void *)(stream + 5 * p->groups);
    padding = (int8_t *)(void *)(job.sums + 4 * output_pairs);
    (void)memset(padding, (int)p->in_zero_point, (size_t)p->in_channels);
    image.in = in;
    image.top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    image.padding = padding;
    while (left > 0) {
        const int32_t pixels = (left > 1) ? 2 : 1;
        glowmcu_corner corners[2];
        for (int32_t i = 0; i < 2; ++i) {
            /* A last odd pixel is its own neighbour. */
            corners[i].y = oy * p->stride_y - p->pad_top;
            corners[i].x = ox * p->stride_x - p->pad_left;
            if (i == 0 && pixels == 1) {
                corners[1] = corners[0];
                break;
            }
            ++ox;
            if (ox == p->out_width) {
                ox = 0;
                ++oy;
            }
        }
        glowmcu_pair_windows(p, &image, stream, corners[0], corners[1]);
        glowmcu_pair_sums(&job);
        if (p->extra_count > 0) {
            glowmcu_pair_extras(p->extras, p->extra_count, stream, job.sums);
        }
        glowmcu_scale_pixels(&p->scale, job.sums, pixel, p->out_channels, pixels);
        pixel += pixels * p->out_channels;
        left -= pixels;
    }
}

#endif /* GLOWMCU_CONV_2D_NODSP_H */

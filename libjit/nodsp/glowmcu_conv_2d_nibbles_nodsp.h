/*
 * glowmcu_conv_2d_nibbles_nodsp.h: int8 convolution with weights of four bits, two in a byte, for
 * cores without DSP: two pixels at a time.
 */
#ifndef GLOWMCU_CONV_2D_NIBBLES_NODSP_H
#define GLOWMCU_CONV_2D_NIBBLES_NODSP_H

#include <string.h>

#include "glowmcu_nibble_pairs_nodsp.h"
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
    int32_t taps;       /* of a window, and one where they are odd */
    int32_t group_taps; /* a multiple of four */
    int32_t groups;
    const int32_t *weights;
    glowmcu_scale scale;
} glowmcu_conv_2d_nibbles;

/* The image from row `top` on, and a position of its padding. */
typedef struct {
    const int8_t *in;
    int32_t top;
    const int8_t *padding;
} glowmcu_nibble_image;

/* Top left corner of a window in the image. */
typedef struct {
    int32_t y;
    int32_t x;
} glowmcu_nibble_corner;

/* Whether windows at `at` have all columns of their rows inside the image, one beside the other. */
GLOWMCU_CODE
static inline int32_t glowmcu_nibble_is_between(const glowmcu_conv_2d_nibbles *p,
    glowmcu_nibble_corner at)
{
    return at.x >= 0 && at.x + p->kernel_width <= p->in_width && p->dilation_x == 1;
}

/* A position of a row of the image, or what padding holds. */
GLOWMCU_CODE
static inline const int8_t *glowmcu_nibble_position(const glowmcu_conv_2d_nibbles *p,
    const glowmcu_nibble_image *image, glowmcu_nibble_corner at)
{
    if (at.y < 0 || at.y >= p->in_height || at.x < 0 || at.x >= p->in_width) {
        return image->padding;
    }
    return image->in + ((at.y - image->top) * p->in_width + at.x) * p->in_channels;
}

/* The windows of two pixels, as a stream. */
GLOWMCU_CODE
static void glowmcu_nibble_windows(const glowmcu_conv_2d_nibbles *p,
    const glowmcu_nibble_image *image, uint32_t *stream, glowmcu_nibble_corner first,
    glowmcu_nibble_corner second)
{
    const int32_t is_between = (glowmcu_nibble_is_between(p, first)
        && glowmcu_nibble_is_between(p, second)) ? 1 : 0;
    const int32_t width = p->kernel_width;
    const int32_t lefts[2] = {first.x, second.x};
    glowmcu_nibble_writer writer;

    writer.at = stream;
    writer.correction = stream + p->taps;
    writer.sum = 0;
    writer.left = p->group_taps;
    writer.group_taps = p->group_taps;
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t is_whole = (is_between != 0 && first.y >= 0 && first.y < p->in_height
            && second.y >= 0 && second.y < p->in_height) ? 1 : 0;
        const int32_t length = (is_whole != 0) ? width * p->in_channels : p->in_channels;

        for (int32_t run = (is_whole != 0) ? 1 : width; run > 0; --run) {
            glowmcu_nibble_write(&writer, glowmcu_nibble_position(p, image, first),
                glowmcu_nibble_position(p, image, second), length);
            first.x += p->dilation_x;
            second.x += p->dilation_x;
        }
        first.x = lefts[0];
        second.x = lefts[1];
        first.y += p->dilation_y;
        second.y += p->dilation_y;
    }
    glowmcu_nibble_finish(&writer, stream + p->taps);
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * scratch: [taps words][groups words][16 words for eight outputs][in_channels bytes], 4-byte
 * aligned.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_nibbles_s8(const glowmcu_conv_2d_nibbles *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    uint32_t *stream = (uint32_t *)(void *)scratch;
    int8_t *pixel = out;
    int32_t left = (end_row - first_row) * p->out_width;
    glowmcu_nibble_image image;
    glowmcu_nibble_job job;
    int8_t *padding;
    int32_t oy = first_row;
    int32_t ox = 0;

    job.stream = stream;
    job.stream_end = stream + p->taps;
    job.corrections = job.stream_end;
    job.group_bytes = 4 * p->group_taps;
    job.weights = p->weights;
    job.eights = (p->out_channels + 7) >> 3;
    job.sums = (int32_t *)(void *)(stream + p->taps + p->groups);
    padding = (int8_t *)(void *)(job.sums + 16 * job.eights);
    (void)memset(padding, (int)p->in_zero_point, (size_t)p->in_channels);
    image.in = in;
    image.top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    image.padding = padding;
    while (left > 0) {
        const int32_t pixels = (left > 1) ? 2 : 1;
        glowmcu_nibble_corner corners[2];
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
        glowmcu_nibble_windows(p, &image, stream, corners[0], corners[1]);
        glowmcu_nibble_pairs(&job);
        glowmcu_scale_pixels(&p->scale, job.sums, pixel, p->out_channels, pixels);
        pixel += pixels * p->out_channels;
        left -= pixels;
    }
}

#endif /* GLOWMCU_CONV_2D_NIBBLES_NODSP_H */

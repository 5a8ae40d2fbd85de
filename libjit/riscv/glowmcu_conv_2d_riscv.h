/*
 * glowmcu_conv_2d_riscv.h: int8 convolution for RISC-V, two pixels at a time.
 */
#ifndef GLOWMCU_CONV_2D_RISCV_H
#define GLOWMCU_CONV_2D_RISCV_H

#include <string.h>

#include "glowmcu_pair_sums_riscv.h"
#include "glowmcu_scale_riscv.h"
#include "glowmcu_windows_riscv.h"

typedef struct {
    glowmcu_window_riscv window;
    int32_t out_channels;
    int32_t groups; /* of four taps */
    int32_t extra_count;
    const int8_t *weights;
    const int32_t *extras;
    glowmcu_scale_riscv scale;
} glowmcu_conv_2d_riscv;

/* The windows of two pixels, `a` and `b` their top left corners, as a stream. */
GLOWMCU_CODE
static void glowmcu_pair_windows_riscv(const glowmcu_conv_2d_riscv *p,
    const glowmcu_image_riscv *image, uint32_t *stream, glowmcu_corner_riscv a,
    glowmcu_corner_riscv b)
{
    const glowmcu_window_riscv *const w = &p->window;
    uint32_t *const end = stream + 4 * p->groups;
    uint32_t *at = stream;

    for (int32_t ky = 0; ky < w->kernel_height; ++ky) {
        if (glowmcu_row_is_inside_riscv(w, a) && glowmcu_row_is_inside_riscv(w, b)) {
            at = glowmcu_pair_write_riscv(at, glowmcu_position_riscv(w, image, a.y, a.x),
                glowmcu_position_riscv(w, image, b.y, b.x), w->kernel_width * w->in_channels);
        } else {
            for (int32_t kx = 0; kx < w->kernel_width; ++kx) {
                const int32_t right = kx * w->dilation_x;
                at = glowmcu_pair_write_riscv(at,
                    glowmcu_position_riscv(w, image, a.y, a.x + right),
                    glowmcu_position_riscv(w, image, b.y, b.x + right), w->in_channels);
            }
        }
        a.y += w->dilation_y;
        b.y += w->dilation_y;
    }
    while (at != end) {
        *at = 0;
        ++at;
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * scratch: [4 * groups words][8 * output fours words][in_channels bytes], 4-byte aligned.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_riscv_s8(const glowmcu_conv_2d_riscv *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const glowmcu_window_riscv *const w = &p->window;
    uint32_t *stream = (uint32_t *)(void *)scratch;
    int8_t *pixel = out;
    int32_t left = (end_row - first_row) * w->out_width;
    glowmcu_image_riscv image;
    glowmcu_pair_job_riscv job;
    int8_t *padding;
    int32_t oy = first_row;
    int32_t ox = 0;

    job.stream = stream;
    job.weights = p->weights;
    job.groups = p->groups;
    job.output_fours = (p->out_channels + 3) >> 2;
    job.sums = (int32_t *)(void *)(stream + 4 * p->groups);
    padding = (int8_t *)(void *)(job.sums + 8 * job.output_fours);
    (void)memset(padding, (int)w->in_zero_point, (size_t)w->in_channels);
    image.in = in;
    image.top = glowmcu_first_input_row(first_row, w->stride_y, w->pad_top);
    image.padding = padding;
    while (left > 0) {
        glowmcu_corner_riscv corners[2];
        for (int32_t i = 0; i < 2; ++i) {
            /* A last odd pixel is its own neighbour. */
            corners[i].y = oy * w->stride_y - w->pad_top;
            corners[i].x = ox * w->stride_x - w->pad_left;
            if (i == 0 && left == 1) {
                corners[1] = corners[0];
                break;
            }
            ++ox;
            if (ox == w->out_width) {
                ox = 0;
                ++oy;
            }
        }
        glowmcu_pair_windows_riscv(p, &image, stream, corners[0], corners[1]);
        glowmcu_pair_sums_riscv(&job);
        if (p->extra_count > 0) {
            glowmcu_pair_extras_riscv(&job, p->extras, p->extra_count);
        }
        glowmcu_scale_sums_riscv(&p->scale, job.sums, pixel, p->out_channels);
        pixel += p->out_channels;
        --left;
        if (left > 0) {
            glowmcu_scale_sums_riscv(&p->scale, job.sums + 4 * job.output_fours, pixel,
                p->out_channels);
            pixel += p->out_channels;
            --left;
        }
    }
}

#endif /* GLOWMCU_CONV_2D_RISCV_H */

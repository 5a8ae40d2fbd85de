/*
 * glowmcu_few_inputs_f32.h: float windows of few products, NHWC, some pixels of a row at a time.
 *
 * The inputs of a tile of pixels stay in registers while all outputs are computed from them, one
 * after the other. What a tile has outside the image is 0: with finite weights that adds nothing.
 */
#ifndef GLOWMCU_FEW_INPUTS_F32_H
#define GLOWMCU_FEW_INPUTS_F32_H

#include <string.h>

#include "glowmcu_fpu.h"

/* Inputs of a tile at most. */
#define GLOWMCU_FEW_FLOATS_MOST 28

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t out_width;
    int32_t stride_y;
    int32_t pad_top;
    int32_t pad_left;
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    const float *weights; /* of each output, and its bias */
} glowmcu_few_floats_real;

/* What is known of a layer's tiles where its code is rendered. */
typedef struct {
    int32_t pixels;
    int32_t height; /* of a window */
    int32_t width;
    int32_t depth;
    int32_t stride;
    int32_t outputs;
    int32_t is_matrix; /* whether all pixels are one row, each made of the one in its place */
} glowmcu_few_floats_tile;

/*
 * All outputs of a tile at `x`, whose rows are `row` floats apart, to `out`. Pixels behind the one
 * numbered `last` are none. Returns `most` of the next tile: the bits of the greatest result.
 */
typedef int32_t (*glowmcu_few_floats_outputs)(const glowmcu_few_floats_real *p, const float *x,
    int32_t row, float *out, int32_t last, int32_t most);

#if !GLOWMCU_HAS_FPU
/* As glowmcu_few_floats_outputs. */
GLOWMCU_CODE
static inline void glowmcu_few_floats_portable(const glowmcu_few_floats_real *p,
    const glowmcu_few_floats_tile *tile, const float *x, int32_t row, float *out, int32_t last)
{
    const float *w = p->weights;
    const int32_t products = tile->width * tile->depth;

    for (int32_t output = 0; output < tile->outputs; ++output) {
        for (int32_t pixel = 0; pixel <= last; ++pixel) {
            const float *at = x + pixel * tile->stride * tile->depth;
            float sum = 0.0f;

            for (int32_t y = 0; y < tile->height; ++y) {
                for (int32_t i = 0; i < products; ++i) {
                    sum += at[y * row + i] * w[y * products + i];
                }
            }
            out[pixel * tile->outputs + output] = glowmcu_clamped_f32(
                sum + w[tile->height * products], p->clamping, p->clamp_min, p->clamp_max);
        }
        w += tile->height * products + 1;
    }
}
#endif

/* A tile of which some lies outside the image, from row `top` and its float `left` on. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_few_floats_copy(const float *in, int32_t height, int32_t row, int32_t top,
    int32_t rows, int32_t left, int32_t count, float *tile)
{
    const int32_t begin = (left < 0) ? -left : 0;
    const int32_t end = (left + count > row) ? row - left : count;

    (void)memset(tile, 0, (size_t)(rows * count) * sizeof *tile);
    for (int32_t y = top; y < top + rows; ++y, tile += count) {
        if (y >= 0 && y < height) {
            for (int32_t i = begin; i < end; ++i) {
                tile[i] = in[y * row + left + i];
            }
        }
    }
}

/*
 * Output rows [first_row, end_row). `in` begins with the first of the input rows under them, `out`
 * with row first_row. Results may overwrite input that nothing reads any more.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_few_floats_rows(const glowmcu_few_floats_real *p,
    glowmcu_few_floats_tile tile, glowmcu_few_floats_outputs compute, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    const int32_t step = tile.pixels * tile.stride;
    const int32_t columns = step - tile.stride + tile.width;
    const int32_t pixels = (end_row - first_row) * p->out_width;
    const int32_t width = tile.is_matrix ? pixels : p->out_width;
    const int32_t in_width = tile.is_matrix ? pixels : p->in_width;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t in_height = tile.is_matrix ? 1 : p->in_height - in_row;
    int32_t top = tile.is_matrix ? 0 : first_row * p->stride_y - p->pad_top - in_row;
    const uint32_t mode = glowmcu_floats_begin();
    float copy[GLOWMCU_FEW_FLOATS_MOST];
    int32_t most = 0;

    (void)memcpy(&most, &p->clamp_max, sizeof most);
    for (int32_t done = 0; done < pixels; done += width, top += p->stride_y) {
        const int32_t is_inside =
            (GLOWMCU_HAS_FPU && top >= 0 && top + tile.height <= in_height) ? 1 : 0;
        int32_t ox = 0;

        while (ox < width) {
            const int32_t left = ox * tile.stride - p->pad_left;
            const int32_t behind = in_width - columns - left; /* columns of the image */
            const float *x = copy;
            int32_t row = columns * tile.depth;
            int32_t tiles = 1;
            int32_t last = tile.pixels - 1;

            if (is_inside && left >= 0 && behind >= 0) {
                x = in + (top * in_width + left) * tile.depth;
                row = in_width * tile.depth;
                tiles += behind / step;
            } else {
                glowmcu_few_floats_copy(in, in_height, in_width * tile.depth, top, tile.height,
                    left * tile.depth, row, copy);
            }
            if (width - ox < tile.pixels) {
                last = width - ox - 1;
                tiles = 1;
            } else if (tiles > (width - ox) / tile.pixels) {
                tiles = (width - ox) / tile.pixels;
            }
            ox += tiles * tile.pixels;
            for (; tiles > 0; --tiles) {
                most = compute(p, x, row, out, last, most);
                x += step * tile.depth;
                out += (last + 1) * tile.outputs;
            }
        }
    }
    glowmcu_floats_end(mode, p->clamping, p->clamp_min, p->clamp_max, out - pixels * tile.outputs,
        pixels * tile.outputs);
}

#endif /* GLOWMCU_FEW_INPUTS_F32_H */

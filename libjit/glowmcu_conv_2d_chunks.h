/*
 * glowmcu_conv_2d_chunks.h: int8 convolution that reads its values where they are, two pixels x
 * four output channels at a time.
 *
 * What lies under a pixel is a few runs of values, one a kernel row. They are read in chunks, which
 * are what a rendered function does without a branch; ways lead from chunk to chunk. Where padding
 * is, or runs are too short, the values are gathered in the scratch, which has ways of its own.
 * See glowmcu/kernels/chunk_walk.py for sizes, glowmcu_dense_stream.h for the constants.
 */
#ifndef GLOWMCU_CONV_2D_CHUNKS_H
#define GLOWMCU_CONV_2D_CHUNKS_H

#include "glowmcu_dense_stream.h"

typedef struct {
    const int32_t *stream;     /* where the assembly loads it */
    const int32_t *image_ways; /* bytes to the next chunk, after the last one -1; NULL: gather all */
    const int32_t *patch_ways;
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t kernel_height;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t columns;     /* that are gathered together: under two neighbours, or under one pixel */
    int32_t second_patch; /* from one pixel's patch to the other's; 0: they share one */
    int32_t out_width;
    int32_t depth_out;
    int32_t clamp_min;
    int32_t clamp_max;   /* below clamp_min: nothing is left to clamp */
} glowmcu_conv_2d_chunks;

/* Pairs of pixels, in the order that the assembly loads. */
typedef struct {
    const int32_t *ways;
    const int8_t *in;
    int32_t in_step; /* from pair to pair */
    int8_t *out;
    int32_t out_step; /* from pixel to pixel */
    int32_t pairs;
} glowmcu_chunks_run;

typedef void (*glowmcu_chunk_pairs)(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_run *run);

#if !GLOWMCU_HAS_DSP
/* What a function is made for: `distance` bytes from pixel to pixel, a chunk's fours of values. */
typedef struct {
    glowmcu_dense_shape dense;
    int32_t distance;
    int32_t fours;
    int32_t last; /* where the last four of them begin; the others follow one another */
} glowmcu_chunk_shape;

/* All output channels of a pixel. */
static inline void glowmcu_chunk_pixel(const glowmcu_chunk_shape *k,
    const glowmcu_conv_2d_chunks *p, const int32_t *ways, const int8_t *in, int8_t *out)
{
    const int32_t *block = p->stream;

    for (int32_t i = 0; i < p->depth_out; i += k->dense.channels) {
        const int8_t *chunk = in;
        int32_t sums[8];
        int32_t way;
        block = glowmcu_dense_start(&k->dense, block, sums);
        for (const int32_t *next = ways;; chunk += way) {
            for (int32_t j = 0; j < k->fours; ++j) {
                uint32_t words[2];
                glowmcu_dense_widen(chunk + ((j == k->fours - 1) ? k->last : 4 * j), 4, words, 1);
                block = glowmcu_dense_add(&k->dense, words, 1, 2, block, sums);
            }
            way = *next++;
            if (way < 0) {
                break;
            }
        }
        block = glowmcu_dense_results(&k->dense, sums, block, NULL, out);
    }
}

static inline void glowmcu_chunks_portable(const glowmcu_chunk_shape *k,
    const glowmcu_conv_2d_chunks *p, const glowmcu_chunks_run *run)
{
    for (int32_t i = 0; i < run->pairs; ++i) {
        const int8_t *in = run->in + i * run->in_step;
        int8_t *out = run->out + 2 * i * run->out_step;
        glowmcu_chunk_pixel(k, p, run->ways, in, out);
        glowmcu_chunk_pixel(k, p, run->ways, in + k->distance, out + run->out_step);
    }
}
#endif

/* `columns` from `x` of an input row, NULL for padding; returns what follows in the patch. */
static int8_t *glowmcu_conv_2d_chunks_row(const glowmcu_conv_2d_chunks *p, const int8_t *row,
    int32_t x, int8_t *patch)
{
    for (int32_t left = p->columns; left > 0;) {
        const int32_t is_inside = row != NULL && x >= 0 && x < p->in_width;
        int32_t together = 1;
        size_t bytes;
        if (row == NULL || (is_inside && p->dilation_x == 1)) {
            /* All that there is. */
            together = (row == NULL || left < p->in_width - x) ? left : p->in_width - x;
        }
        bytes = (size_t)(together * p->in_channels);
        if (is_inside) {
            memcpy(patch, row + x * p->in_channels, bytes);
        } else {
            memset(patch, p->in_zero_point, bytes);
        }
        patch += bytes;
        left -= together;
        x += together * p->dilation_x;
    }
    return patch;
}

/* What a patch has of all kernel rows, from column `x` of the image; `in` is row `in_row`. */
static void glowmcu_conv_2d_chunks_patch(const glowmcu_conv_2d_chunks *p, const int8_t *in,
    int32_t in_row, int32_t y, int32_t x, int8_t *patch)
{
    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        const int8_t *row = NULL;
        if (y >= 0 && y < p->in_height) {
            row = in + (y - in_row) * p->in_width * p->in_channels;
        }
        patch = glowmcu_conv_2d_chunks_row(p, row, x, patch);
    }
}

/* Pairs from output column `ox` whose values are all in a row of the image, that have `rows`. */
static int32_t glowmcu_conv_2d_chunks_inside(const glowmcu_conv_2d_chunks *p, int32_t ox)
{
    const int32_t left = ox * p->stride_x - p->pad_left;
    const int32_t room = p->in_width - p->columns - left;
    const int32_t pairs = (p->out_width > 1) ? (p->out_width - ox) / 2 : 1;
    int32_t fitting;

    if (left < 0 || room < 0) {
        return 0;
    }
    fitting = room / (2 * p->stride_x) + 1;
    return (fitting < pairs) ? fitting : pairs;
}

/*
 * Some pairs of output row `oy` from column `ox`, that are not beside the image or are one pair;
 * returns how many. `out` is where the first pixel's results go.
 */
static int32_t glowmcu_conv_2d_chunks_some(const glowmcu_conv_2d_chunks *p,
    glowmcu_chunk_pairs pairs, const int8_t *in, int32_t in_row, int8_t *out, int8_t *patch,
    int32_t oy, int32_t ox)
{
    const int32_t y = oy * p->stride_y - p->pad_top;
    const int32_t x = ox * p->stride_x - p->pad_left;
    const int32_t is_within = p->image_ways != NULL && y >= 0
        && y + (p->kernel_height - 1) * p->dilation_y < p->in_height;
    const int32_t inside = is_within ? glowmcu_conv_2d_chunks_inside(p, ox) : 0;
    int8_t aside[8];
    glowmcu_chunks_run run;

    run.in_step = 2 * p->stride_x * p->in_channels;
    run.out = (p->depth_out < 4) ? aside : out;
    run.out_step = (p->depth_out < 4) ? 4 : ((p->out_width > 1) ? p->depth_out : 0);
    run.pairs = (inside == 0 || p->depth_out < 4) ? 1 : inside;
    if (inside > 0) {
        run.ways = p->image_ways;
        run.in = in + ((y - in_row) * p->in_width + x) * p->in_channels;
    } else {
        run.ways = p->patch_ways;
        run.in = patch;
        glowmcu_conv_2d_chunks_patch(p, in, in_row, y, x, patch);
        if (p->second_patch > 0) {
            glowmcu_conv_2d_chunks_patch(p, in, in_row, y, x + p->stride_x,
                patch + p->second_patch);
        }
    }
    pairs(p, &run);
    if (p->depth_out < 4) {
        memcpy(out, aside, (size_t)p->depth_out);
        if (p->out_width > 1) {
            memcpy(out + p->depth_out, aside + 4, (size_t)p->depth_out);
        }
    }
    return run.pairs;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * `scratch` is for a patch, if any. The last pixel of an odd row goes with the one before, which is
 * computed twice; a single pixel is its own neighbour.
 */
static void glowmcu_conv_2d_chunks_rows(const glowmcu_conv_2d_chunks *p,
    glowmcu_chunk_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row,
    int32_t end_row)
{
    const int32_t width = p->out_width;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int8_t *row = out;

    for (int32_t oy = first_row; oy < end_row; ++oy, row += width * p->depth_out) {
        for (int32_t ox = 0; ox < width;) {
            const int32_t place = (ox + 1 == width && width > 1) ? ox - 1 : ox;
            ox = place + 2 * glowmcu_conv_2d_chunks_some(p, pairs, in, in_row,
                row + place * p->depth_out, scratch, oy, place);
        }
    }
    glowmcu_dense_clamp(out, (int32_t)(row - out), p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_CONV_2D_CHUNKS_H */

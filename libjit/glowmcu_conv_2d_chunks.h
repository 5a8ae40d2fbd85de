/*
 * glowmcu_conv_2d_chunks.h: int8 convolution that reads its values where they are, two pixels x
 * four output channels at a time.
 *
 * Under a pixel lie runs of values: kernel rows, or single taps. They are read in chunks, which are
 * what a rendered function does without a branch, from a list of places. In the scratch stands only
 * what two neighbours read beside the image, or all of a window whose runs would be too short.
 * See glowmcu/kernels/chunk_walk.py for sizes, glowmcu_dense_stream.h for the constants.
 */
#ifndef GLOWMCU_CONV_2D_CHUNKS_H
#define GLOWMCU_CONV_2D_CHUNKS_H

#include "glowmcu_dense_stream.h"

/* A place is 2 * bytes from a pair's first byte, or one more than 2 * bytes into the patch. */
#define GLOWMCU_CHUNKS_END (-1)

typedef struct {
    const int32_t *stream; /* where the assembly loads it */
    const int32_t *places; /* of a pair in the image, or of one that is gathered whole */
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
    int32_t runs;         /* of a kernel row */
    int32_t run_columns;  /* under a run of both pixels; gathered whole: of one kernel row */
    int32_t run_values;   /* of one pixel */
    int32_t chunk_values;
    int32_t reach;        /* columns under a kernel row of both pixels */
    int32_t patch_at;     /* bytes of scratch before the patch: places */
    int32_t second_patch; /* gathered whole: from one pixel's to the other's, 0: one; else -1 */
    int32_t out_width;
    int32_t depth_out;
    int32_t clamp_min;
    int32_t clamp_max;    /* below clamp_min: nothing is left to clamp */
} glowmcu_conv_2d_chunks;

/* Pairs of pixels, in the order that the assembly loads. */
typedef struct {
    const int32_t *places;
    const int8_t *patch;
    const int8_t *in;
    int32_t in_step; /* from pair to pair */
    int8_t *out;
    int32_t out_step; /* from pixel to pixel */
    int32_t pairs;
} glowmcu_chunks_run;

typedef void (*glowmcu_chunk_pairs)(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_run *run);

/* Rows of the image that are there: `rows` begins with row `first`. */
typedef struct {
    const int8_t *rows;
    int32_t first;
} glowmcu_chunks_image;

/* Places and patch of the pair at row `y` and column `x` of the image, some of it outside. */
typedef void (*glowmcu_chunks_gather)(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_image *image, int32_t y, int32_t x, int8_t *scratch,
    glowmcu_chunks_run *run);

#if !GLOWMCU_HAS_DSP
/* What a function is made for: `distance` bytes from pixel to pixel, a chunk's fours of values. */
typedef struct {
    glowmcu_dense_shape dense;
    int32_t distance;
    int32_t fours;
    int32_t last; /* where the last four of them begin; the others follow one another */
} glowmcu_chunk_shape;

/* All output channels of one of both pixels, which is `distance` bytes behind the places. */
GLOWMCU_CODE
static inline void glowmcu_chunk_pixel(const glowmcu_chunk_shape *k,
    const glowmcu_conv_2d_chunks *p, const glowmcu_chunks_run *run, const int8_t *in,
    int32_t distance, int8_t *out)
{
    const int32_t *block = p->stream;

    for (int32_t i = 0; i < p->depth_out; i += k->dense.channels) {
        int32_t sums[8];
        block = glowmcu_dense_start(&k->dense, block, sums);
        for (const int32_t *place = run->places; *place >= 0; ++place) {
            const int8_t *chunk = (((*place & 1) != 0) ? run->patch : in) + (*place >> 1);
            for (int32_t j = 0; j < k->fours; ++j) {
                const int32_t four = (j == k->fours - 1) ? k->last : 4 * j;
                uint32_t words[2];
                glowmcu_dense_widen(chunk + distance + four, 4, words, 1);
                block = glowmcu_dense_add(&k->dense, words, 1, 2, block, sums);
            }
        }
        block = glowmcu_dense_results(&k->dense, sums, block, NULL, out);
    }
}

GLOWMCU_CODE
static inline void glowmcu_chunks_portable(const glowmcu_chunk_shape *k,
    const glowmcu_conv_2d_chunks *p, const glowmcu_chunks_run *run)
{
    for (int32_t i = 0; i < run->pairs; ++i) {
        const int8_t *in = run->in + i * run->in_step;
        int8_t *out = run->out + 2 * i * run->out_step;
        glowmcu_chunk_pixel(k, p, run, in, 0, out);
        glowmcu_chunk_pixel(k, p, run, in, k->distance, out + run->out_step);
    }
}
#endif

/* Row `y`, NULL where that is padding. */
GLOWMCU_CODE
static inline const int8_t *glowmcu_chunks_row(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_image *image, int32_t y)
{
    if (y < 0 || y >= p->in_height) {
        return NULL;
    }
    return image->rows + (y - image->first) * p->in_width * p->in_channels;
}

/* `columns` of a row from `x`, `step` apart; returns what follows in the patch. */
GLOWMCU_CODE
static inline int8_t *glowmcu_chunks_copy(const glowmcu_conv_2d_chunks *p, const int8_t *row,
    int32_t x, int32_t columns, int32_t step, int8_t *patch)
{
    while (columns > 0) {
        const int32_t is_inside = row != NULL && x >= 0 && x < p->in_width;
        int32_t together = 1;
        size_t bytes;
        if (row == NULL) {
            together = columns;
        } else if (is_inside && step == 1) {
            together = (columns < p->in_width - x) ? columns : p->in_width - x;
        }
        bytes = (size_t)(together * p->in_channels);
        if (is_inside) {
            memcpy(patch, row + x * p->in_channels, bytes);
        } else {
            memset(patch, (int)p->in_zero_point, bytes);
        }
        patch += bytes;
        columns -= together;
        x += together * step;
    }
    return patch;
}

/* All that is under either pixel. */
GLOWMCU_CODE
static inline void glowmcu_chunks_whole(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_image *image, int32_t y, int32_t x, int8_t *scratch,
    glowmcu_chunks_run *run)
{
    const int32_t pixels = (p->second_patch > 0) ? 2 : 1;

    for (int32_t pixel = 0; pixel < pixels; ++pixel, x += p->stride_x) {
        int8_t *patch = scratch + pixel * p->second_patch;
        for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
            const int8_t *row = glowmcu_chunks_row(p, image, y + ky * p->dilation_y);
            patch = glowmcu_chunks_copy(p, row, x, p->run_columns, p->dilation_x, patch);
        }
    }
    run->places = p->places;
    run->patch = scratch;
}

/* The runs that are not inside the image for both pixels; one of padding alone serves for all. */
GLOWMCU_CODE
static inline void glowmcu_chunks_pieces(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_image *image, int32_t y, int32_t x, int8_t *scratch,
    glowmcu_chunks_run *run)
{
    int8_t *const patch = scratch + p->patch_at;
    int8_t *end = patch;
    int32_t *places = (int32_t *)(void *)scratch;
    int32_t padding = -1;

    run->places = places;
    run->patch = patch;
    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        const int8_t *row = glowmcu_chunks_row(p, image, y);
        for (int32_t i = 0; i < p->runs; ++i) {
            const int32_t left = x + i * p->dilation_x;
            const int32_t right = left + p->run_columns;
            const int32_t is_padding = row == NULL || right <= 0 || left >= p->in_width;
            int32_t place = 2 * (int32_t)(end - patch) + 1;
            if (!is_padding && left >= 0 && right <= p->in_width) {
                place = 2 * (int32_t)(row + left * p->in_channels - image->rows);
            } else if (is_padding && padding >= 0) {
                place = padding;
            } else {
                end = glowmcu_chunks_copy(p, is_padding ? NULL : row, left, p->run_columns, 1, end);
                padding = is_padding ? place : padding;
            }
            for (int32_t at = 0; at < p->run_values; at += p->chunk_values) {
                const int32_t last = p->run_values - p->chunk_values;
                *places++ = place + 2 * ((at < last) ? at : last);
            }
        }
    }
    *places = GLOWMCU_CHUNKS_END;
}

/* Pairs from output column `ox` whose values are all in the image, in rows that are. */
GLOWMCU_CODE
static inline int32_t glowmcu_chunks_inside(const glowmcu_conv_2d_chunks *p, int32_t y, int32_t ox)
{
    const int32_t left = ox * p->stride_x - p->pad_left;
    const int32_t room = p->in_width - p->reach - left;
    const int32_t pairs = (p->out_width > 1) ? (p->out_width - ox) / 2 : 1;
    int32_t fitting;

    if (y < 0 || y + (p->kernel_height - 1) * p->dilation_y >= p->in_height) {
        return 0;
    }
    if (left < 0 || room < 0) {
        return 0;
    }
    fitting = room / (2 * p->stride_x) + 1;
    return (fitting < pairs) ? fitting : pairs;
}

/*
 * Some pairs of output row `oy` from column `ox`: those that are inside the image, or one; returns
 * how many. `gather` NULL: all are inside. Results of less than four channels are made aside.
 */
GLOWMCU_CODE
static int32_t glowmcu_conv_2d_chunks_some(const glowmcu_conv_2d_chunks *p,
    glowmcu_chunk_pairs pairs, glowmcu_chunks_gather gather, const glowmcu_chunks_image *image,
    int8_t *out, int8_t *scratch, int32_t oy, int32_t ox)
{
    const int32_t y = oy * p->stride_y - p->pad_top;
    const int32_t x = ox * p->stride_x - p->pad_left;
    const int32_t inside = (p->second_patch < 0) ? glowmcu_chunks_inside(p, y, ox) : 0;
    int8_t aside[8];
    glowmcu_chunks_run run;

    run.in_step = 2 * p->stride_x * p->in_channels;
    run.out = (p->depth_out < 4) ? aside : out;
    run.out_step = (p->depth_out < 4) ? 4 : ((p->out_width > 1) ? p->depth_out : 0);
    run.pairs = (inside == 0 || p->depth_out < 4) ? 1 : inside;
    run.in = image->rows;
    if (inside > 0 || gather == NULL) {
        run.places = p->places;
        run.in += ((y - image->first) * p->in_width + x) * p->in_channels;
        run.patch = NULL;
    } else {
        gather(p, image, y, x, scratch, &run);
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
 * `scratch` is for places and patch, if any. The last pixel of an odd row goes with the one before,
 * which is computed twice; a single pixel is its own neighbour.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_chunks_rows(const glowmcu_conv_2d_chunks *p,
    glowmcu_chunk_pairs pairs, glowmcu_chunks_gather gather, const int8_t *in, int8_t *out,
    int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const glowmcu_chunks_image image = {
        in, glowmcu_first_input_row(first_row, p->stride_y, p->pad_top)
    };
    int8_t *row = out;

    for (int32_t oy = first_row; oy < end_row; ++oy, row += p->out_width * p->depth_out) {
        for (int32_t ox = 0; ox < p->out_width;) {
            const int32_t is_odd = ox + 1 == p->out_width && ox > 0;
            const int32_t place = is_odd ? ox - 1 : ox;
            ox = place + 2 * glowmcu_conv_2d_chunks_some(p, pairs, gather, &image,
                row + place * p->depth_out, scratch, oy, place);
        }
    }
    glowmcu_dense_clamp(out, (int32_t)(row - out), p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_CONV_2D_CHUNKS_H */

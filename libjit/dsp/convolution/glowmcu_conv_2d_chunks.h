/*
 * glowmcu_conv_2d_chunks.h: int8 convolution that reads its values where they are, two pixels x
 * four output channels at a time.
 *
 * Under a pixel lie runs of values: kernel rows, or single taps. They are read in chunks, which are
 * what a rendered function does without a branch, from a list of places. In the scratch stands only
 * what two neighbours read beside the image, or all of a window whose runs would be too short.
 * A chunk is at most 64 values; of a run that is no multiple of its chunk the last ones overlap,
 * and what was read before meets weights of 0. For the constants see glowmcu_dense_stream.h.
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

/* Pairs of pixels. */
typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *places;
    const int8_t *patch;
    const int8_t *in;
    int32_t in_step; /* from pair to pair */
    int8_t *out;
    int32_t out_step; /* from pixel to pixel */
    int32_t pairs;

    /* Rows of the image that are there: `rows` begins with row `first`. */
    const int8_t *rows;
    int32_t first;
    int8_t *scratch;
} glowmcu_chunks_run;

typedef void (*glowmcu_chunk_pairs)(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_run *run);

/* Places and patch of the pair at row `y` and column `x` of the image, some of it outside. */
typedef void (*glowmcu_chunks_gather)(const glowmcu_conv_2d_chunks *p, glowmcu_chunks_run *run,
    int32_t y, int32_t x);

/* What a function is made of; `gather` NULL: all pairs are inside the image. */
typedef struct {
    glowmcu_chunk_pairs pairs;
    glowmcu_chunks_gather gather;
} glowmcu_chunks_parts;

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
    const glowmcu_chunks_run *run, int32_t y)
{
    if (y < 0 || y >= p->in_height) {
        return NULL;
    }
    return run->rows + (y - run->first) * p->in_width * p->in_channels;
}

/* `columns` of a row from `x`, `step` apart; returns what follows in the patch. */
GLOWMCU_CODE
static inline int8_t *glowmcu_chunks_copy(const glowmcu_conv_2d_chunks *p, const int8_t *row,
    int32_t x, int32_t columns, int32_t step, int8_t *patch)
{
    while (columns > 0) {
        const int32_t is_inside = (row != NULL && x >= 0 && x < p->in_width) ? 1 : 0;
        int32_t together = 1;
        size_t bytes;
        if (row == NULL) {
            together = columns;
        } else if (is_inside && step == 1) {
            together = (columns < p->in_width - x) ? columns : p->in_width - x;
        } else {
            /* one pixel */
        }
        bytes = (size_t)(together * p->in_channels);
        if (is_inside != 0) {
            (void)memcpy(patch, row + x * p->in_channels, bytes);
        } else {
            (void)memset(patch, (int)p->in_zero_point, bytes);
        }
        patch += bytes;
        columns -= together;
        x += together * step;
    }
    return patch;
}

/* `columns` of a row from `x`, of which some may be inside; returns what follows in the patch. */
GLOWMCU_CODE
static inline int8_t *glowmcu_chunks_edge(const glowmcu_conv_2d_chunks *p, const int8_t *row,
    int32_t x, int8_t *patch)
{
    const int32_t columns = p->run_columns;
    const int32_t first = (row == NULL) ? columns : ((x < 0) ? -x : 0);
    const int32_t end = (row == NULL || x + columns < p->in_width) ? columns : p->in_width - x;

    (void)memset(patch, (int)p->in_zero_point, (size_t)(first * p->in_channels));
    if (row != NULL) {
        patch += first * p->in_channels;
        (void)memcpy(patch, row + (x + first) * p->in_channels,
            (size_t)((end - first) * p->in_channels));
        patch += (end - first) * p->in_channels;
        if (end < columns) {
            (void)memset(patch, (int)p->in_zero_point, (size_t)((columns - end) * p->in_channels));
        }
    }
    return patch + (columns - ((row == NULL) ? 0 : end)) * p->in_channels;
}

/* All that is under either pixel. */
GLOWMCU_CODE
static inline void glowmcu_chunks_whole(const glowmcu_conv_2d_chunks *p, glowmcu_chunks_run *run,
    int32_t y, int32_t x)
{
    const int32_t pixels = (p->second_patch > 0) ? 2 : 1;

    for (int32_t pixel = 0; pixel < pixels; ++pixel, x += p->stride_x) {
        int8_t *patch = run->scratch + pixel * p->second_patch;
        for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
            const int8_t *row = glowmcu_chunks_row(p, run, y + ky * p->dilation_y);
            patch = glowmcu_chunks_copy(p, row, x, p->run_columns, p->dilation_x, patch);
        }
    }
    run->places = p->places;
    run->patch = run->scratch;
}

/* The runs that are not inside the image for both pixels; one of padding alone serves for all. */
GLOWMCU_CODE
static inline void glowmcu_chunks_pieces(const glowmcu_conv_2d_chunks *p, glowmcu_chunks_run *run,
    int32_t y, int32_t x)
{
    int8_t *end = run->scratch + p->patch_at;
    int32_t *places = (int32_t *)(void *)run->scratch;
    int32_t padding = -1;

    run->places = places;
    run->patch = end;
    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        const int8_t *row = glowmcu_chunks_row(p, run, y);
        for (int32_t i = 0; i < p->runs; ++i) {
            const int32_t left = x + i * p->dilation_x;
            const int32_t right = left + p->run_columns;
            const int32_t is_padding = (row == NULL || right <= 0 || left >= p->in_width) ? 1 : 0;
            int32_t place = 2 * (int32_t)(end - run->patch) + 1;
            if (!is_padding && left >= 0 && right <= p->in_width) {
                place = 2 * (int32_t)(row + left * p->in_channels - run->rows);
            } else if (is_padding && padding >= 0) {
                place = padding;
            } else {
                end = glowmcu_chunks_edge(p, is_padding ? NULL : row, left, end);
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

/* One pair of up to three channels, which is made aside. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_chunks_few(const glowmcu_conv_2d_chunks *p,
    glowmcu_chunk_pairs pairs, glowmcu_chunks_run *run)
{
    const size_t channels = (size_t)(p->depth_out & 3);
    int8_t *const out = run->out;
    int8_t aside[8];

    run->out = aside;
    run->out_step = 4;
    run->pairs = 1;
    pairs(p, run);
    (void)memcpy(out, aside, channels);
    if (p->out_width > 1) {
        (void)memcpy(out + channels, aside + 4, channels);
    }
}

/*
 * Some pairs of output row `oy` from column `ox`: those that are inside the image, or one; returns
 * how many.
 */
GLOWMCU_CODE
static int32_t glowmcu_conv_2d_chunks_some(const glowmcu_conv_2d_chunks *p,
    const glowmcu_chunks_parts *parts, glowmcu_chunks_run *run, int32_t oy, int32_t ox)
{
    const int32_t y = oy * p->stride_y - p->pad_top;
    const int32_t x = ox * p->stride_x - p->pad_left;
    const int32_t inside = (p->second_patch < 0) ? glowmcu_chunks_inside(p, y, ox) : 0;

    run->in_step = 2 * p->stride_x * p->in_channels;
    run->out_step = (p->out_width > 1) ? p->depth_out : 0;
    run->pairs = (inside == 0) ? 1 : inside;
    run->in = run->rows;
    if (inside > 0 || parts->gather == NULL) {
        run->places = p->places;
        run->in += ((y - run->first) * p->in_width + x) * p->in_channels;
        run->patch = NULL;
    } else {
        parts->gather(p, run, y, x);
    }
    if (p->depth_out < 4) {
        glowmcu_chunks_few(p, parts->pairs, run);
    } else {
        parts->pairs(p, run);
    }
    return run->pairs;
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
    const glowmcu_chunks_parts *parts, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t count = (end_row - first_row) * p->out_width * p->depth_out;
    glowmcu_chunks_run run;

    run.rows = in;
    run.first = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    run.scratch = scratch;
    for (int32_t oy = first_row; oy < end_row; ++oy, out += p->out_width * p->depth_out) {
        int32_t ox = 0;

        while (ox < p->out_width) {
            const int32_t is_odd = (ox + 1 == p->out_width && ox > 0) ? 1 : 0;
            const int32_t place = is_odd ? ox - 1 : ox;
            run.out = out + place * p->depth_out;
            ox = place + 2 * glowmcu_conv_2d_chunks_some(p, parts, &run, oy, place);
        }
    }
    glowmcu_dense_clamp(out - count, count, p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_CONV_2D_CHUNKS_H */

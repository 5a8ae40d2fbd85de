/*
 * glowmcu_wide_windows_mve.h: int16 convolutions and matrix products with int8 weights, four output
 * channels of one pixel or of two neighbours at a time, inputs where they lie.
 *
 * The inner functions are assembly that the compiler writes, or C on the same stream of constants.
 *
 * For each four channels of a group, the last ones with zeros, the stream has weights, then what
 * rescales their sums. Of each run [vectors][4][8] of int8, zeros where the run has no more inputs;
 * then biases [4], multipliers [4] in upper halves and shifts [4], negative; or, where sums have 64
 * bits, for each channel its bias in two words and a word of both, as DSP instructions want it.
 */
#ifndef GLOWMCU_WIDE_WINDOWS_MVE_H
#define GLOWMCU_WIDE_WINDOWS_MVE_H

#include "glowmcu_mve.h"
#include "glowmcu_requantize.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t groups;
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t parts; /* runs of neighbours in a row of a window: 1 or kernel_width */
    int32_t clamp_min;
    int32_t clamp_max;
    const int32_t *stream;
} glowmcu_wide_vectors;

/* Bytes of a run's weights for four channels. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_vectors_bytes(const glowmcu_wide_vectors *p)
{
    return (p->kernel_width / p->parts * p->group_inputs + 7) / 8 * 32;
}

/* Words of the stream for a group. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_group_words(const glowmcu_wide_vectors *p)
{
    return (p->group_outputs + 3) / 4
        * (p->kernel_height * p->parts * glowmcu_wide_vectors_bytes(p) / 4 + 12);
}

#if GLOWMCU_HAS_MVE
/* A pixel's window, in the order that the assembly knows; steps are bytes. */
typedef struct {
    const int32_t *stream;
    int32_t channels;
    int32_t first;   /* two bits a lane: which inputs of a run's first vector count; 0: all do */
    int32_t vectors; /* of which all inputs count */
    int32_t last;    /* as `first`; 0: there are no inputs beyond those */
    int32_t in_step;
    int32_t w_step;  /* from a run's end to the next one */
    int32_t before;  /* weights that the window does not have, in front of the others */
    int32_t runs;    /* rows of the window */
    int32_t after;
    int32_t parts;   /* runs of a row where these are several, else steps are from row to row */
    int32_t in_row;
    int32_t w_row;   /* from a row's end to the next one, beyond the run's step */
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t in_apart; /* from a pixel's window to the next one's */
    int32_t out_apart;
} glowmcu_wide_vector_job;

/* All channels of a group at one pixel, or at two. */
typedef void (*glowmcu_wide_vector_function)(const glowmcu_wide_vector_job *job, const int16_t *in,
    int16_t *out);

/* The mask of the first `lanes` inputs of a vector: two bits each. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_lanes(int32_t lanes)
{
    return (int32_t)(((uint32_t)1 << (2 * lanes)) - (uint32_t)1);
}

/*
 * How the window of taps `ys` and `xs` is walked through; an empty one is a run of no inputs.
 * Returns by how many inputs runs begin in front of the window: those of `first` that do not count.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_vector_plan(const glowmcu_wide_vectors *p, glowmcu_taps ys,
    glowmcu_taps xs, glowmcu_wide_vector_job *job)
{
    const int32_t run_bytes = glowmcu_wide_vectors_bytes(p);
    const int32_t row_bytes = p->parts * run_bytes;
    const int32_t line_bytes = p->dilation_y * p->in_width * p->in_channels * 2;
    const int32_t taps = xs.end - xs.first;
    const int32_t rows = ys.end - ys.first;
    const int32_t start = (p->parts == 1) ? xs.first * p->group_inputs : 0;
    const int32_t left = (p->parts == 1) ? start / 8 * 32 : xs.first * run_bytes;
    const int32_t front = start % 8;
    /* Inputs of a run, with those in front of the window. */
    const int32_t count = front + ((p->parts == 1) ? taps * p->group_inputs : p->group_inputs);
    const int32_t vectors = (count + 7) / 8;

    job->vectors = count / 8;
    job->first = 0;
    job->last = glowmcu_wide_lanes(count % 8);
    if (front != 0) {
        const int32_t inside = (count < 8) ? job->last : glowmcu_wide_lanes(8);
        job->first = inside - glowmcu_wide_lanes(front);
        job->vectors = (count < 8) ? 0 : job->vectors - 1;
        job->last = (count < 8) ? 0 : job->last;
    }
    job->runs = rows;
    job->parts = taps;
    job->in_row = line_bytes - taps * p->dilation_x * p->in_channels * 2;
    job->w_row = (p->parts - taps) * run_bytes;
    job->in_step = ((p->parts == 1) ? line_bytes : p->dilation_x * p->in_channels * 2)
        - vectors * 16;
    job->w_step = run_bytes - vectors * 32;
    job->before = ys.first * row_bytes + left;
    job->after = (p->kernel_height - ys.end) * row_bytes - left;
    if (taps == 0 || rows == 0) {
        job->first = 0;
        job->vectors = 0;
        job->last = 0;
        job->runs = 1;
        job->parts = 1;
        job->w_step = 0;
        job->w_row = 0;
        job->before = 0;
        job->after = p->kernel_height * row_bytes;
    }
    return front;
}
#else
/* One channel at one pixel: `lane` of the block that begins at `block`. */
GLOWMCU_CODE
static inline int16_t glowmcu_wide_vector_channel(const glowmcu_wide_vectors *p, int32_t wide,
    const int32_t *block, int32_t lane, const int16_t *in, glowmcu_taps ys, glowmcu_taps xs)
{
    const int32_t run_bytes = glowmcu_wide_vectors_bytes(p);
    const int32_t scales = p->kernel_height * p->parts * run_bytes / 4;
    const int32_t *own = block + scales + ((wide != 0) ? 3 * lane : lane);
    /* Inputs from tap to tap of a run, and bytes from run to run of a row. */
    const int32_t inside = (p->parts == 1) ? p->group_inputs : 0;
    const int32_t apart = (p->parts == 1) ? 0 : run_bytes;
    int64_t sum = own[0];
    int32_t multiplier;
    int32_t shift;

    if (wide != 0) {
        sum = (int64_t)(((uint64_t)(uint32_t)own[1] << 32) | (uint32_t)own[0]);
        multiplier = own[2] >> 16;
        shift = own[2] & 0xFF;
    } else {
        multiplier = own[4] >> 16;
        shift = -own[8];
    }
    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            const int32_t at = (ys.origin + ky * p->dilation_y) * p->in_width + xs.origin
                + kx * p->dilation_x;
            const int16_t *x = in + at * p->in_channels;
            const int8_t *w = (const int8_t *)block + ky * p->parts * run_bytes + kx * apart;
            for (int32_t ic = 0; ic < p->group_inputs; ++ic) {
                const int32_t i = kx * inside + ic;
                sum += x[ic] * w[(i / 8 * 4 + lane) * 8 + i % 8];
            }
        }
    }
    /* |sum| < 2^47, and 15 bits of a multiplier */
    sum = (sum * multiplier) >> 16;
    sum = (sum + (int64_t)(((uint64_t)1 << (uint32_t)shift) >> 1)) >> shift;
    return (int16_t)glowmcu_clamp((int32_t)sum, p->clamp_min, p->clamp_max);
}

/* All channels of a group at one pixel, in C: four are read for before they are written. */
GLOWMCU_CODE
static inline void glowmcu_wide_vector_pixel(const glowmcu_wide_vectors *p, int32_t wide,
    const int32_t *stream, const int16_t *in, int16_t *out, glowmcu_taps ys, glowmcu_taps xs)
{
    const int32_t block_words =
        p->kernel_height * p->parts * glowmcu_wide_vectors_bytes(p) / 4 + 12;

    for (int32_t oc = 0; oc < p->group_outputs; oc += 4) {
        const int32_t count = (p->group_outputs - oc < 4) ? p->group_outputs - oc : 4;
        int16_t results[4];

        for (int32_t lane = 0; lane < count; ++lane) {
            results[lane] = glowmcu_wide_vector_channel(p, wide, stream, lane, in, ys, xs);
        }
        (void)memcpy(out + oc, results, (size_t)count * sizeof *results);
        stream += block_words;
    }
}
#endif

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more. Neighbours whose windows have the same taps are a pair.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_wide_vector_rows(const glowmcu_wide_vectors *p,
#if GLOWMCU_HAS_MVE
    glowmcu_wide_vector_function one, glowmcu_wide_vector_function pair,
#else
    int32_t wide,
#endif
    const int16_t *in, int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t group_words = glowmcu_wide_group_words(p);
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
#if GLOWMCU_HAS_MVE
    const int32_t pixel = p->groups * p->group_outputs;
    glowmcu_wide_vector_job job;

    job.channels = p->group_outputs;
    job.clamp_min = p->clamp_min;
    job.clamp_max = p->clamp_max;
    job.in_apart = p->stride_x * p->in_channels * 2;
    job.out_apart = pixel * 2;
#endif
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
#if GLOWMCU_HAS_MVE
        glowmcu_taps xs = glowmcu_taps_inside(-p->pad_left, p->kernel_width, p->dilation_x,
            p->in_width);
        int32_t ox = 0;

        ys.origin -= in_row; /* rows are counted from `in` */
        while (ox < p->out_width) {
            const int32_t front = glowmcu_wide_vector_plan(p, ys, xs, &job);
            int32_t same = ox; /* pixels up to here have windows of these taps */
            glowmcu_taps next;

            do {
                ++same;
                next = glowmcu_taps_inside(same * p->stride_x - p->pad_left, p->kernel_width,
                    p->dilation_x, p->in_width);
            } while (same < p->out_width && next.first == xs.first && next.end == xs.end);
            while (ox < same) {
                const int32_t two = (pair != NULL && ox + 1 < same) ? 1 : 0;
                const int32_t at = (ys.origin + ys.first * p->dilation_y) * p->in_width
                    + ox * p->stride_x - p->pad_left + xs.first * p->dilation_x;
                const int16_t *x = in;

                if (ys.first < ys.end && xs.first < xs.end) {
                    x += at * p->in_channels - front;
                }
                job.stream = p->stream;
                for (int32_t group = 0; group < p->groups; ++group) {
                    if (two != 0) {
                        pair(&job, x, out);
                    } else {
                        one(&job, x, out);
                    }
                    job.stream += group_words;
                    x += p->group_inputs;
                    out += p->group_outputs;
                }
                out += two * pixel;
                ox += 1 + two;
            }
            xs = next;
        }
#else
        ys.origin -= in_row;
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            for (int32_t group = 0; group < p->groups; ++group) {
                glowmcu_wide_vector_pixel(p, wide, p->stream + group * group_words,
                    in + group * p->group_inputs, out, ys, xs);
                out += p->group_outputs;
            }
        }
#endif
    }
}

#endif /* GLOWMCU_WIDE_WINDOWS_MVE_H */

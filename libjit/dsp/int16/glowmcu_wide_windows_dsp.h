/*
 * glowmcu_wide_windows_dsp.h: int16 convolutions and matrix products with int8 weights, four output
 * channels of a pixel at a time, inputs where they lie.
 *
 * The inner function is assembly that the compiler writes, or C on the same stream of constants.
 *
 * For each four channels of a group, the last ones with zeros, the stream has what their sums start
 * from, weights, and what rescales the sums. A word of weights has two inputs of two channels: in
 * each half 256 * first + second, or a byte of each, the second lowest.
 */
#ifndef GLOWMCU_WIDE_WINDOWS_DSP_H
#define GLOWMCU_WIDE_WINDOWS_DSP_H

#include "glowmcu_dsp.h"
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
} glowmcu_wide_windows;

/* What is part of the code. */
typedef struct {
    int32_t packed;     /* words of weights are 256 * first + second, not bytes */
    int32_t wide;       /* sums of 64 bits */
    int32_t doubled;    /* Q31 and rounded twice, not Q15 */
    int32_t single;     /* all windows have all taps, in one run */
    int32_t four_bytes; /* of the assembly's code */
} glowmcu_wide_shape;

/* Bytes of a run's weights for four channels. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_run_bytes(const glowmcu_wide_windows *p)
{
    return (p->kernel_width / p->parts * p->group_inputs + 1) / 2 * 8;
}

/* Words of the stream for four channels. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_block_words(const glowmcu_wide_windows *p,
    const glowmcu_wide_shape *k)
{
    const int32_t starts = (k->wide != 0) ? 8 : ((k->packed != 0) ? 6 : 4);
    const int32_t scales = (k->doubled != 0) ? 12 : 4;

    return starts + p->kernel_height * p->parts * glowmcu_wide_run_bytes(p) / 4 + scales;
}

#if GLOWMCU_HAS_DSP
/* A pixel's window, in the order that the assembly knows; steps and sizes are bytes. */
typedef struct {
    const int32_t *stream;
    int32_t channels;
    int32_t length; /* of a run's fours of inputs */
    int32_t back;   /* by which its first round begins before it, were that whole */
    int32_t entry;  /* of code to where the first round is entered, and 1 for Thumb */
    int32_t rest;   /* inputs of a run beyond its fours */
    int32_t in_step;
    int32_t w_step; /* from a run's end to the next one */
    int32_t before; /* weights that the window does not have, in front of the others */
    int32_t runs;   /* rows of the window */
    int32_t after;
    int32_t parts;  /* runs of a row where these are several, else steps are from row to row */
    int32_t in_row;
    int32_t w_row;  /* from a row's end to the next one, beyond the run's step */
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t front; /* 1: a run's first input is the second one of a word of weights */
} glowmcu_wide_job;

/* All channels of a group at one pixel. */
typedef void (*glowmcu_wide_function)(const glowmcu_wide_job *job, const int16_t *in, int16_t *out);

/* How the window of taps `ys` and `xs` is walked through; an empty one is a run of no inputs. */
GLOWMCU_CODE
static inline void glowmcu_wide_plan(const glowmcu_wide_windows *p, int32_t four_bytes,
    glowmcu_taps ys, glowmcu_taps xs, glowmcu_wide_job *job)
{
    const int32_t run_bytes = glowmcu_wide_run_bytes(p);
    const int32_t row_bytes = p->parts * run_bytes;
    const int32_t line_bytes = p->dilation_y * p->in_width * p->in_channels * 2;
    const int32_t taps = xs.end - xs.first;
    const int32_t rows = ys.end - ys.first;
    const int32_t is_empty = (taps == 0 || rows == 0) ? 1 : 0;
    const int32_t first = (p->parts == 1) ? xs.first * p->group_inputs : 0;
    const int32_t inputs = (p->parts == 1) ? taps * p->group_inputs : p->group_inputs;
    const int32_t front = (is_empty != 0) ? 0 : first % 2;
    const int32_t count = (is_empty != 0) ? 0 : inputs - front;
    const int32_t skipped = -(count / 4) & 3;
    const int32_t left = (p->parts == 1) ? first / 2 * 8 : xs.first * run_bytes;

    job->front = front;
    job->length = count / 4 * 8;
    job->back = skipped * 8;
    job->entry = skipped * four_bytes + 1;
    job->rest = count % 4;
    job->runs = (is_empty != 0) ? 1 : rows;
    job->parts = (is_empty != 0) ? 1 : taps;
    job->in_row = line_bytes - taps * p->dilation_x * p->in_channels * 2;
    job->w_row = (p->parts - taps) * run_bytes;
    job->in_step = p->dilation_x * p->in_channels * 2 - inputs * 2;
    job->w_step = 0;
    if (p->parts == 1) {
        job->in_step = line_bytes - inputs * 2;
        job->w_step = run_bytes - (first % 2 + inputs + 1) / 2 * 8;
    }
    job->before = ys.first * row_bytes + left;
    job->after = (p->kernel_height - ys.end) * row_bytes - left;
    if (is_empty != 0) {
        job->w_step = 0;
        job->w_row = 0;
        job->before = 0;
        job->after = p->kernel_height * row_bytes;
    }
}
/* All groups at one pixel; returns where the next one's results are. */
GLOWMCU_CODE
static inline int16_t *glowmcu_wide_groups(const glowmcu_wide_windows *p,
    glowmcu_wide_function one, glowmcu_wide_job *job, int32_t group_words, const int16_t *x,
    int16_t *out)
{
    job->stream = p->stream;
    for (int32_t group = 0; group < p->groups; ++group) {
        one(job, x, out);
        job->stream += group_words;
        x += p->group_inputs;
        out += p->group_outputs;
    }
    return out;
}

/* Rows of windows that have all taps, in one run. */
GLOWMCU_CODE
static inline void glowmcu_wide_single_rows(const glowmcu_wide_windows *p,
    glowmcu_wide_function one, glowmcu_wide_job *job, int32_t group_words, const int16_t *in,
    int16_t *out, int32_t rows)
{
    const int32_t step = p->stride_x * p->in_channels;
    const int32_t line = p->stride_y * p->in_width * p->in_channels;

    for (int32_t row = 0; row < rows; ++row) {
        const int16_t *x = in;
        for (int32_t ox = p->out_width; ox > 0; --ox) {
            out = glowmcu_wide_groups(p, one, job, group_words, x, out);
            x += step;
        }
        in += line;
    }
}
#else
/* What the sum of channel `lane` of a block starts from. */
GLOWMCU_CODE
static inline int64_t glowmcu_wide_start(const glowmcu_wide_shape *k, const int32_t *block,
    int32_t lane)
{
    const int32_t second = lane % 2;
    const int32_t *w = block + ((k->wide != 0) ? 4 : 3) * (lane / 2);
    int64_t low;
    int64_t both;

    if (k->wide == 0 && k->packed == 0) {
        return block[lane];
    }
    both = (int64_t)(((uint64_t)(uint32_t)w[1] << 32) | (uint32_t)w[0]);
    low = w[2];
    if (k->wide != 0) {
        low = (int64_t)(((uint64_t)(uint32_t)w[3] << 32) | (uint32_t)w[2]);
    }
    if (second != 0) {
        return low;
    }
    return (k->packed != 0) ? (both - low) / 256 : both;
}

/* The weight of channel `lane` for input `i` of a run whose words begin at `w`. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_weight(const glowmcu_wide_shape *k, const int32_t *w, int32_t i,
    int32_t lane)
{
    const uint32_t word = (uint32_t)w[i / 2 * 2 + lane / 2];
    const int32_t half = (i % 2 != 0) ? glowmcu_high_half(word) : glowmcu_low_half(word);
    const int32_t low = (int8_t)(uint8_t)((uint32_t)half & 0xFFu);

    if (lane % 2 != 0) {
        return low;
    }
    return (k->packed != 0) ? (half - low) / 256 : half >> 8;
}

/* The result of a sum of channel `lane`, whose block's scales begin at `w`. */
GLOWMCU_CODE
static inline int32_t glowmcu_wide_scaled(const glowmcu_wide_shape *k, const int32_t *w,
    int32_t lane, int64_t sum)
{
    if (k->doubled != 0) {
        const int32_t x = (int32_t)sum * 2;
        const int32_t *own = w + 3 * lane;
        return (glowmcu_smmlar(x, own[0], own[1]) + glowmcu_sign(x)) >> own[2];
    }
    /* |sum| < 2^47, and 15 bits of a multiplier */
    return (int32_t)((((sum * (w[lane] >> 16)) >> 16)
        + (int64_t)(((uint64_t)1 << ((uint32_t)w[lane] & 0xFFu)) >> 1)) >> (w[lane] & 0xFF));
}

/* One channel at one pixel: `lane` of the block that begins at `block`. */
GLOWMCU_CODE
static inline int16_t glowmcu_wide_channel(const glowmcu_wide_windows *p,
    const glowmcu_wide_shape *k, const int32_t *block, int32_t lane, const int16_t *in,
    glowmcu_taps ys, glowmcu_taps xs)
{
    const int32_t run_words = glowmcu_wide_run_bytes(p) / 4;
    const int32_t scales = glowmcu_wide_block_words(p, k) - ((k->doubled != 0) ? 12 : 4);
    const int32_t *weights = block + scales - p->kernel_height * p->parts * run_words;
    /* Inputs from tap to tap of a run, and words from run to run of a row. */
    const int32_t inside = (p->parts == 1) ? p->group_inputs : 0;
    const int32_t apart = (p->parts == 1) ? 0 : run_words;
    int64_t sum = glowmcu_wide_start(k, block, lane);

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            const int32_t at = (ys.origin + ky * p->dilation_y) * p->in_width + xs.origin
                + kx * p->dilation_x;
            const int16_t *x = in + at * p->in_channels;
            const int32_t *w = weights + ky * p->parts * run_words + kx * apart;
            for (int32_t ic = 0; ic < p->group_inputs; ++ic) {
                sum += x[ic] * glowmcu_wide_weight(k, w, kx * inside + ic, lane);
            }
        }
    }
    return (int16_t)glowmcu_clamp(glowmcu_wide_scaled(k, block + scales, lane, sum), p->clamp_min,
        p->clamp_max);
}

/* All channels of a group at one pixel, in C: four are read for before they are written. */
GLOWMCU_CODE
static inline void glowmcu_wide_pixel(const glowmcu_wide_windows *p, const glowmcu_wide_shape *k,
    const int32_t *stream, const int16_t *in, int16_t *out, glowmcu_taps ys, glowmcu_taps xs)
{
    for (int32_t oc = 0; oc < p->group_outputs; oc += 4) {
        const int32_t count = (p->group_outputs - oc < 4) ? p->group_outputs - oc : 4;
        int16_t results[4];

        for (int32_t lane = 0; lane < count; ++lane) {
            results[lane] = glowmcu_wide_channel(p, k, stream, lane, in, ys, xs);
        }
        (void)memcpy(out + oc, results, (size_t)count * sizeof *results);
        stream += glowmcu_wide_block_words(p, k);
    }
}
#endif

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_wide_rows(const glowmcu_wide_windows *p,
#if GLOWMCU_HAS_DSP
    glowmcu_wide_function one,
#endif
    const glowmcu_wide_shape *k, const int16_t *in, int16_t *out, int32_t first_row,
    int32_t end_row)
{
    const int32_t group_words = (p->group_outputs + 3) / 4 * glowmcu_wide_block_words(p, k);
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
#if GLOWMCU_HAS_DSP
    glowmcu_wide_job job;

    job.channels = p->group_outputs;
    job.clamp_min = p->clamp_min;
    job.clamp_max = p->clamp_max;
    if (k->single != 0) {
        const glowmcu_taps ys = {0, 0, p->kernel_height};
        const glowmcu_taps xs = {0, 0, p->kernel_width};

        glowmcu_wide_plan(p, k->four_bytes, ys, xs, &job);
        glowmcu_wide_single_rows(p, one, &job, group_words, in, out, end_row - first_row);
        return;
    }
#endif
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
#if GLOWMCU_HAS_DSP
        int32_t first = -1; /* taps that the job is for */
        int32_t end = -1;
#endif
        ys.origin -= in_row; /* rows are counted from `in` */
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
#if GLOWMCU_HAS_DSP
            const int32_t at = (ys.origin + ys.first * p->dilation_y) * p->in_width + xs.origin
                + xs.first * p->dilation_x;
            const int16_t *x = in;

            if (ys.first < ys.end && xs.first < xs.end) {
                x += at * p->in_channels;
            }
            if (first != xs.first || end != xs.end) {
                first = xs.first;
                end = xs.end;
                glowmcu_wide_plan(p, k->four_bytes, ys, xs, &job);
            }
            out = glowmcu_wide_groups(p, one, &job, group_words, x, out);
#else
            for (int32_t group = 0; group < p->groups; ++group) {
                glowmcu_wide_pixel(p, k, p->stream + group * group_words,
                    in + group * p->group_inputs, out, ys, xs);
                out += p->group_outputs;
            }
#endif
        }
    }
}

#endif /* GLOWMCU_WIDE_WINDOWS_DSP_H */

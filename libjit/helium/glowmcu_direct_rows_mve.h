/*
 * glowmcu_direct_rows_mve.h: what the int8 convolutions share that compute two windows by four
 * channels at a time: a layer's struct, and rows of the image with their padding in scratch.
 *
 * The inner function is assembly that the compiler writes, or C on the same stream of constants.
 */
#ifndef GLOWMCU_DIRECT_ROWS_MVE_H
#define GLOWMCU_DIRECT_ROWS_MVE_H

#include "glowmcu_scale_mve.h"

/* The assembly reads the first eight words of this struct by offsets. */
typedef struct {
    int32_t channels; /* results a window */
    glowmcu_scale_mve scale;
    /*
     * For four channels after four channels: weights [turns][blocks][4][16] of int8, 0 beyond a
     * row of the window, then constants of the scale; all are 0 of channels beyond the last.
     * Where the function has no turns: constants in front of the next four channels' weights, the
     * last ones in front of the first.
     */
    const int32_t *stream;
    int32_t stream_bytes;
    /* Behind each turn: twice the bytes to where the next begins; and 1 behind the last, back. */
    const int32_t *steps;
    int32_t apart;    /* bytes from window to window */
    int32_t out_width;
    int32_t kernel_height;
    int32_t stride_y;
    int32_t in_height;
    int32_t line_bytes; /* of a row of the image */
    int32_t row_bytes;  /* of a row in scratch; 0: rows are read in the image */
    int32_t pad_top;
    int32_t pad_bytes;  /* left of the image */
    int32_t in_zero_point;
    int32_t is_one_row; /* 1: the windows of all rows are equally far apart */
    int32_t copied;     /* of those, the last ones, whose last vectors end behind the image */
} glowmcu_direct_mve;

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, channels) == 0, direct_channels_at_0);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, scale.preshift) == 4, direct_preshift_at_4);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, scale.clamp_min) == 8, direct_clamp_min_at_8);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, scale.clamp_max) == 12, direct_clamp_max_at_12);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, stream) == 16, direct_stream_at_16);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, stream_bytes) == 20, direct_bytes_at_20);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, steps) == 24, direct_steps_at_24);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_direct_mve, apart) == 28, direct_apart_at_28);
#else
/*
 * `windows` windows, of which `x` is the first, with `blocks` blocks a turn. `ahead`: constants of
 * four channels stand where the next ones begin.
 */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_portable(const glowmcu_direct_mve *p, int32_t blocks,
    int32_t ahead, const int8_t *x, int8_t *out, int32_t windows)
{
    const int32_t constants = 4 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);

    for (; windows > 0; --windows) {
        const int32_t *stream = p->stream + ahead * constants;
        for (int32_t oc = 0; oc < p->channels; oc += 4) {
            const int8_t *from = x;
            const int32_t *step = p->steps;
            int32_t sums[4] = {0, 0, 0, 0}; /* within int32: the layer's comment has the bound */
            int32_t last = 0;
            while (last == 0) {
                const int8_t *w = (const int8_t *)stream;
                for (int32_t i = 0; i < 64 * blocks; ++i) {
                    const int32_t at = i / 64 * 16 + i % 16;
                    /* beyond a window nobody wrote x */
                    sums[i / 16 % 4] += (w[i] != 0) ? from[at] * w[i] : 0;
                }
                stream += 16 * blocks;
                from += *step / 2; /* the one that is odd is the last */
                last = *step % 2;
                ++step;
            }
            if (ahead != 0 && oc + 4 >= p->channels) {
                stream = p->stream;
            }
            for (int32_t lane = 0; lane < 4 && oc + lane < p->channels; ++lane) {
                out[oc + lane] = glowmcu_scale_mve_one(&p->scale, sums[lane], stream + lane, 4);
            }
            stream += constants;
        }
        x += p->apart;
        out += p->channels;
    }
}
#endif

/* `windows` windows, at least 1, `apart` bytes apart, the first of which is at `x`. */
typedef void (*glowmcu_direct_mve_windows)(const glowmcu_direct_mve *p, const int8_t *x,
    int8_t *out, int32_t windows);

/* Row `iy`, inside the image or not, with its padding; `in` begins with row `in_top`. */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_fill(const glowmcu_direct_mve *p, const int8_t *in,
    int32_t in_top, int32_t iy, int8_t *row)
{
    const int32_t room = p->row_bytes - p->pad_bytes;
    const int32_t inside = (p->line_bytes < room) ? p->line_bytes : room;

    glowmcu_mve_fill(row, p->in_zero_point, p->row_bytes);
    if (iy >= 0 && iy < p->in_height) {
        glowmcu_mve_copy(row + p->pad_bytes, in + (iy - in_top) * p->line_bytes, inside);
    }
}

/* The rows under output row `oy` to `scratch`, one after the other; row `oy - 1` was there. */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_advance(const glowmcu_direct_mve *p, const int8_t *in,
    int32_t first_row, int32_t oy, int8_t *scratch)
{
    const int32_t in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t top = oy * p->stride_y - p->pad_top;
    const int32_t common = p->kernel_height - p->stride_y;
    int32_t ky = 0;

    if (oy > first_row && common > 0) {
        /* Downwards, so that a copy by vectors may overlap. */
        const int8_t *from = scratch + p->stride_y * p->row_bytes;
        ky = common;
#if GLOWMCU_HAS_MVE
        glowmcu_mve_copy(scratch, from, common * p->row_bytes);
#else
        (void)memmove(scratch, from, (size_t)(common * p->row_bytes));
#endif
    }
    for (; ky < p->kernel_height; ++ky) {
        glowmcu_direct_mve_fill(p, in, in_top, top + ky, scratch + ky * p->row_bytes);
    }
}

#endif /* GLOWMCU_DIRECT_ROWS_MVE_H */

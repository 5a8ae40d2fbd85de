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
     * last ones in front of the first; and of eight channels it may take the even ones first.
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
 * `windows` windows, of which `x` is the first, with `blocks` blocks a turn. `ahead`, if not 0:
 * constants of four channels stand where the next ones begin, and channels of so many fours
 * alternate.
 */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_portable(const glowmcu_direct_mve *p, int32_t blocks,
    int32_t ahead, const int8_t *x, int8_t *out, int32_t windows)
{
    const int32_t constants = 4 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);
    const int32_t fours = (ahead > 1) ? ahead : 1;
    const int32_t channels = (p->channels + 4 * fours - 1) / (4 * fours) * (4 * fours);

    for (; windows > 0; --windows) {
        const int32_t *stream = p->stream + ((ahead != 0) ? constants : 0);
        for (int32_t oc = 0; oc < channels; oc += 4) {
            const int32_t first = oc / (4 * fours) * (4 * fours) + oc / 4 % fours;
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
            if (ahead != 0 && oc + 4 >= channels) {
                stream = p->stream;
            }
            for (int32_t lane = 0; lane < 4 && first + fours * lane < p->channels; ++lane) {
                out[first + fours * lane] =
                    glowmcu_scale_mve_one(&p->scale, sums[lane], stream + lane, 4);
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

/* `bytes` bytes to memory that may begin before `from` and overlap it. */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_move(int8_t *to, const int8_t *from, int32_t bytes)
{
#if GLOWMCU_HAS_MVE
    __asm__ volatile(
        "   wls     lr, %2, 2f\n"
        "1: vldrb.8 q0, [%1], #16\n"
        "   vldrb.8 q1, [%1], #16\n"
        "   vldrb.8 q2, [%1], #16\n"
        "   vldrb.8 q3, [%1], #16\n"
        "   vstrb.8 q0, [%0], #16\n"
        "   vstrb.8 q1, [%0], #16\n"
        "   vstrb.8 q2, [%0], #16\n"
        "   vstrb.8 q3, [%0], #16\n"
        "   le      lr, 1b\n"
        "2:\n"
        : "+r"(to), "+r"(from)
        : "r"(bytes >> 6)
        : "lr", "q0", "q1", "q2", "q3", "memory");
    glowmcu_mve_copy(to, from, bytes & 63);
#else
    (void)memmove(to, from, (size_t)bytes);
#endif
}

/*
 * The rows under output row `oy` to `scratch`, one after the other; row `oy - 1` was there, so that
 * the image's padding stays left and right of other rows.
 */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_advance(const glowmcu_direct_mve *p, const int8_t *in,
    int32_t first_row, int32_t oy, int8_t *scratch)
{
    const int32_t in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t top = oy * p->stride_y - p->pad_top;
    const int32_t common = p->kernel_height - p->stride_y;
    const int32_t room = p->row_bytes - p->pad_bytes;
    const int32_t inside = (p->line_bytes < room) ? p->line_bytes : room;
    int32_t ky = 0;

    if (oy > first_row && common > 0) {
        ky = common;
        glowmcu_direct_mve_move(scratch, scratch + p->stride_y * p->row_bytes,
            common * p->row_bytes);
    }
    for (; ky < p->kernel_height; ++ky) {
        int8_t *const row = scratch + ky * p->row_bytes;
        const int32_t iy = top + ky;
        const int32_t is_inside = iy >= 0 && iy < p->in_height;

        if (oy == first_row || is_inside == 0) {
            glowmcu_mve_fill(row, p->in_zero_point, p->row_bytes);
        }
        if (is_inside != 0) {
            glowmcu_direct_mve_move(row + p->pad_bytes, in + (iy - in_top) * p->line_bytes, inside);
        }
    }
}

#endif /* GLOWMCU_DIRECT_ROWS_MVE_H */

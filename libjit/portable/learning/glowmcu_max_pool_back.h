/*
 * glowmcu_max_pool_back.h: the gradient by the image of which maxima were taken.
 */
#ifndef GLOWMCU_MAX_POOL_BACK_H
#define GLOWMCU_MAX_POOL_BACK_H

#include <string.h>

#include "glowmcu_block_gradient.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_height;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t meeting; /* windows that an element can be in */
    int32_t bits;    /* magnitudes of the result are at most 2^bits */
} glowmcu_max_pool_gradient;

/* Where a window's first greatest element of a channel lies, from `stored`, its channel, on. */
GLOWMCU_CODE
static int32_t glowmcu_first_greatest(const glowmcu_max_pool_gradient *p, const int8_t *stored,
    glowmcu_taps ys, glowmcu_taps xs)
{
    int32_t found = 0;
    int32_t most = -129;

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        const int32_t y = ys.origin + ky * p->dilation_y;
        int32_t at = (y * p->in_width + xs.origin + xs.first * p->dilation_x) * p->channels;
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            if (stored[at] > most) {
                most = stored[at];
                found = at;
            }
            at += p->dilation_x * p->channels;
        }
    }
    return found;
}

/*
 * `gradient` [out_height][out_width][channels] with `common`, exponent and peak; `stored` and `out`
 * [in_height][in_width][channels]. Numbers that meet have been shifted before: at most 2^12 of them
 * are within 2^14 and a half for each, which is less than 2^15.
 */
GLOWMCU_CODE
static void glowmcu_max_pool_back(const glowmcu_max_pool_gradient *p, const int16_t *gradient,
    const int32_t *common, const int8_t *stored, int16_t *out, int32_t *out_common)
{
    const int32_t count = p->in_height * p->in_width * p->channels;
    const int32_t shift = glowmcu_excess(common[1] * p->meeting, p->bits);
    const int32_t most = (int32_t)1 << p->bits;
    int32_t peak = 0;

    (void)memset(out, 0, (size_t)count * sizeof *out);
    for (int32_t oy = 0; oy < p->out_height; ++oy) {
        const glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            for (int32_t c = 0; c < p->channels; ++c) {
                const int32_t value = glowmcu_rounded_shift(*gradient, shift);
                if (value != 0) {
                    const int32_t at = c + glowmcu_first_greatest(p, stored + c, ys, xs);
                    out[at] = (int16_t)(out[at] + value);
                }
                ++gradient;
            }
        }
    }
    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = (out[i] < -most) ? -most : ((out[i] > most) ? most : out[i]);
        out[i] = (int16_t)value;
        peak = glowmcu_peak(peak, value);
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_MAX_POOL_BACK_H */

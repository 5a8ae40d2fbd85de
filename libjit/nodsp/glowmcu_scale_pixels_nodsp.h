/*
 * glowmcu_scale_pixels_nodsp.h: sums of two pixels side by side to int8.
 */
#ifndef GLOWMCU_SCALE_PIXELS_NODSP_H
#define GLOWMCU_SCALE_PIXELS_NODSP_H

#include "glowmcu_thumb.h"
#if GLOWMCU_THUMB == 1
#include "glowmcu_scale_pixels_armv6m.h"
#include "glowmcu_scale_signed_nodsp.h"
#else
#include "glowmcu_scale_nodsp.h"
#endif

/*
 * Sums are [channels][2 pixels], `channels` results of a pixel. `pixels` is 2, or 1: of a single
 * pixel both sums are the same.
 */
GLOWMCU_CODE
static inline void glowmcu_scale_pixels(const glowmcu_scale *p, const int32_t *sums, int8_t *out,
    int32_t channels, int32_t pixels)
{
#if GLOWMCU_THUMB == 1
    if (p->fine_shift > 0) {
        glowmcu_scale_narrow_pixels(p, sums, out, (pixels == 1) ? 0 : channels, channels);
        return;
    }
#endif
    for (int32_t i = 0; i < pixels; ++i) {
#if GLOWMCU_THUMB == 1
        glowmcu_scale_signed(p, sums + i, 2, out + i * channels, channels);
#else
        glowmcu_scale_sums(p, sums + i, 2, out + i * channels, channels);
#endif
    }
}

#endif /* GLOWMCU_SCALE_PIXELS_NODSP_H */

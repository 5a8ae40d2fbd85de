/*
 * glowmcu_plane_nodsp.h: what depthwise 3x3 convolutions a channel at a time share on Armv6-M.
 *
 * A word X = x1 + (x2 << 16) holds inputs of two rows of results; X * w is a product of both. Two
 * products' lower halves fit 16 bits, then halves are added to 32-bit sums. Weights and
 * requantization are a channel's, so that they lie in the order in which a column needs them.
 *
 * Requantization is a line of integers with 24 bits behind the point:
 * u = min(max(sum - low, 0), span); (u * high + ((u * fine) >> 13) + addend) >> 24, of which 8 bits
 * are the result, for the addend begins with the least one.
 */
#ifndef GLOWMCU_PLANE_NODSP_H
#define GLOWMCU_PLANE_NODSP_H

#include <string.h>

#include "glowmcu_base.h"
#include "glowmcu_thumb.h"

/* Of `scales`, words a channel: low; high << 13 | fine; addend << 16 | span. */
typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t in_zero_point;
    int32_t addend_shift;
    int32_t span_shift;
    int32_t clamp_min;
    const int8_t *weights;  /* [channels][3 columns, in the order of the loop][3 rows] */
    const uint32_t *scales; /* [channels][3] */
} glowmcu_depthwise_planes_nodsp;

/* Of a channel's line. */
typedef struct {
    int32_t low;
    uint32_t span;
    uint32_t high;
    uint32_t addend;
} glowmcu_plane_line;

/* Constants of channel c. */
GLOWMCU_CODE
static void glowmcu_plane_constants(const glowmcu_depthwise_planes_nodsp *p, int32_t c,
    int32_t *weights, glowmcu_plane_line *line, uint32_t *fine)
{
    const int8_t *w = p->weights + 9 * c;
    const uint32_t *scale = p->scales + 3 * c;

    for (int32_t i = 0; i < 9; ++i) {
        weights[i] = w[i];
    }
    line->low = (int32_t)scale[0];
    line->high = scale[1] >> 13;
    *fine = scale[1] & 0x1FFFu;
    line->span = (scale[2] & 0xFFFFu) << p->span_shift;
    line->addend = ((scale[2] >> 16) << p->addend_shift) + ((uint32_t)p->clamp_min << 24);
}

/* What a column of padding adds: to both sums, and to the second. */
GLOWMCU_CODE
static void glowmcu_plane_padding(const glowmcu_depthwise_planes_nodsp *p, const int32_t *weights,
    uint32_t *sums)
{
    sums[1] = (uint32_t)((weights[0] + weights[1] + weights[2]) * p->in_zero_point);
    sums[0] = sums[1] * 0x10001u;
}

#if GLOWMCU_THUMB == 1
#include "glowmcu_plane_armv6m.h"
#else
GLOWMCU_CODE
static int8_t glowmcu_plane_result(const glowmcu_plane_line *line, uint32_t fine, int32_t sum)
{
    uint32_t u = (sum > line->low) ? (uint32_t)sum - (uint32_t)line->low : 0u;

    if (u > line->span) {
        u = line->span;
    }
    /* Both products are below 2^32; the last sum is modulo 2^32. */
    u = (u * line->high + ((u * fine) >> 13) + line->addend) >> 24;
    return (int8_t)((u < 128u) ? (int32_t)u : (int32_t)u - 256);
}
#endif

#endif /* GLOWMCU_PLANE_NODSP_H */

/*
 * glowmcu_blend.h: where the results of bilinear resizing lie, in 1/1024 of a pixel.
 */
#ifndef GLOWMCU_BLEND_H
#define GLOWMCU_BLEND_H

#include "glowmcu_base.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_width;
    int32_t step_y;  /* 1/1024 of an input pixel a result */
    int32_t step_x;
    int32_t start_y; /* where the first result lies, at least -512 */
    int32_t start_x;
} glowmcu_resize_bilinear;

/* A position between two input positions. */
typedef struct {
    int32_t lower;
    int32_t upper;
    int32_t fraction; /* distance from lower, 0 to 1023; down to -512 where lower is upper */
} glowmcu_blend;

GLOWMCU_CODE
static inline glowmcu_blend glowmcu_blend_of(int32_t place, int32_t size)
{
    const int32_t above = (place + 1023) >> 10;
    glowmcu_blend between;

    between.lower = (place < 0) ? 0 : place >> 10;
    between.upper = (above < size) ? above : size - 1;
    between.fraction = place - between.lower * 1024;
    return between;
}

#endif /* GLOWMCU_BLEND_H */

/*
 * glowmcu_sources.h: which input positions of a transposed convolution reach a result.
 */
#ifndef GLOWMCU_SOURCES_H
#define GLOWMCU_SOURCES_H

#include "glowmcu_base.h"

/*
 * Input positions [first, end) of one axis that reach a result; `first` may equal or exceed `end`.
 */
typedef struct {
    int32_t place; /* of the result before padding is cut: tap = place - position * stride */
    int32_t first;
    int32_t end;
} glowmcu_sources;

GLOWMCU_CODE
static inline glowmcu_sources glowmcu_sources_of(int32_t place, int32_t taps, int32_t stride,
    int32_t size)
{
    const int32_t past = place - taps; /* the last position too far in front, times stride */
    const int32_t end = place / stride + 1;
    glowmcu_sources sources;

    sources.place = place;
    sources.first = (past < 0) ? 0 : past / stride + 1;
    sources.end = (end < size) ? end : size;
    return sources;
}

/* The first position that reaches result row `first_row` or, for row 0, the image's first. */
GLOWMCU_CODE
static inline int32_t glowmcu_first_source(int32_t first_row, int32_t pad, int32_t taps,
    int32_t stride)
{
    return (first_row > 0) ? glowmcu_sources_of(first_row + pad, taps, stride, 0).first : 0;
}

/* The same positions, counted from position `start`. */
GLOWMCU_CODE
static inline glowmcu_sources glowmcu_sources_from(glowmcu_sources sources, int32_t start,
    int32_t stride)
{
    sources.place -= start * stride;
    sources.first -= start;
    sources.end -= start;
    return sources;
}

#endif /* GLOWMCU_SOURCES_H */

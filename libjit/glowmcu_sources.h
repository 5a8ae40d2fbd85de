/*
 * glowmcu_sources.h: which input positions of a transposed convolution reach a result.
 */
#ifndef GLOWMCU_SOURCES_H
#define GLOWMCU_SOURCES_H

#include "glowmcu_base.h"

/* Input positions [first, end) of one axis that reach a result; `first` may equal or exceed `end`. */
typedef struct {
    int32_t place; /* of the result before padding is cut: tap = place - position * stride */
    int32_t first;
    int32_t end;
} glowmcu_sources;

static inline glowmcu_sources glowmcu_sources_of(int32_t place, int32_t taps, int32_t stride,
    int32_t size)
{
    const int32_t past = place - taps; /* the last position that is too far in front, times stride */
    const int32_t end = place / stride + 1;
    glowmcu_sources sources;

    sources.place = place;
    sources.first = (past < 0) ? 0 : past / stride + 1;
    sources.end = (end < size) ? end : size;
    return sources;
}

#endif /* GLOWMCU_SOURCES_H */

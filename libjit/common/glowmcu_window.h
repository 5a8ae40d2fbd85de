/*
 * glowmcu_window.h: which taps of a sliding window fall inside the image.
 */
#ifndef GLOWMCU_WINDOW_H
#define GLOWMCU_WINDOW_H

#include "glowmcu_base.h"

/* Taps [first, end) of one axis; tap k looks at position origin + k * dilation. */
typedef struct {
    int32_t origin;
    int32_t first;
    int32_t end;
} glowmcu_taps;

/* Taps whose position is in [0, size). `first` may equal `end`: then no tap is inside. */
GLOWMCU_CODE
static inline glowmcu_taps glowmcu_taps_inside(int32_t origin, int32_t taps, int32_t dilation,
    int32_t size)
{
    glowmcu_taps inside;

    inside.origin = origin;
    inside.first = 0;
    while (inside.first < taps && origin + inside.first * dilation < 0) {
        ++inside.first;
    }
    inside.end = taps;
    while (inside.end > inside.first && origin + (inside.end - 1) * dilation >= size) {
        --inside.end;
    }
    return inside;
}

#endif /* GLOWMCU_WINDOW_H */

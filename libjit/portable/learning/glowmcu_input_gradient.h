/*
 * glowmcu_input_gradient.h: from the gradient by a layer's sums to that by what it reads.
 */
#ifndef GLOWMCU_INPUT_GRADIENT_H
#define GLOWMCU_INPUT_GRADIENT_H

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_height;
    int32_t out_width;
    int32_t out_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t bits; /* magnitudes of the result are at most 2^bits */
} glowmcu_input_gradient;

/* The window whose tap lies at `position` of an axis of the padded image; -1 if there is none. */
GLOWMCU_CODE
static inline int32_t glowmcu_window_of(int32_t position, int32_t stride, int32_t windows)
{
    int32_t window = position;

    if (position < 0) {
        return -1;
    }
    if (stride != 1) {
        window = position / stride;
        if (window * stride != position) {
            return -1;
        }
    }
    return (window < windows) ? window : -1;
}

/* Stores a sum as a number of the result, and gives the new peak. */
GLOWMCU_CODE
static inline int32_t glowmcu_store_gradient(int16_t *out, int32_t sum, int32_t shift,
    int32_t peak)
{
    const int32_t value = glowmcu_rounded_shift(sum, shift);

    *out = (int16_t)value;
    return glowmcu_peak(peak, value);
}

#endif /* GLOWMCU_INPUT_GRADIENT_H */

/*
 * glowmcu_back_window.h: what gradients by a convolution's image are made of.
 */
#ifndef GLOWMCU_BACK_WINDOW_H
#define GLOWMCU_BACK_WINDOW_H

#include "glowmcu_gradient_along.h"
#include "glowmcu_input_gradient.h"

/* Largest sum of the magnitudes of all weights that one input channel meets. */
GLOWMCU_CODE
static int32_t glowmcu_conv_2d_reach(const glowmcu_input_gradient *p, const int8_t *weights)
{
    const int32_t rows = p->out_channels * p->kernel_height * p->kernel_width;
    int32_t most = 0;

    for (int32_t ic = 0; ic < p->in_channels; ++ic) {
        const int8_t *w = weights + ic;
        int32_t sum = 0;
        for (int32_t i = 0; i < rows; ++i) {
            sum += (*w < 0) ? -*w : *w;
            w += p->in_channels;
        }
        most = (sum > most) ? sum : most;
    }
    return most;
}

/* Products of a window with `count` (1, 2 or 4) columns; those of the numbers `next` elements
 * behind are in acc[4..7]. */
GLOWMCU_CODE
static void glowmcu_conv_2d_back_window(const glowmcu_gradient_run *window, int32_t count,
    int32_t next, int32_t acc[8])
{
    glowmcu_gradient_run run = *window;

#if GLOWMCU_HAS_DSP
    if (count == 4) {
        glowmcu_gradient_along_fours(&run, next, acc);
        return;
    }
#endif
    if (count == 2) {
        int32_t pair[4] = {acc[0], acc[1], acc[4], acc[5]};
        glowmcu_gradient_along(&run, next, pair);
        acc[0] = pair[0];
        acc[1] = pair[1];
        acc[4] = pair[2];
        acc[5] = pair[3];
    } else {
        acc[0] = glowmcu_gradient_run1(&run, acc[0]);
        run.gradient += next;
        acc[4] = glowmcu_gradient_run1(&run, acc[4]);
    }
}

/* How many of `left` input channels go together. */
GLOWMCU_CODE
static inline int32_t glowmcu_conv_2d_back_count(int32_t left)
{
#if GLOWMCU_HAS_DSP
    if (left >= 4) {
        return 4;
    }
#endif
    return (left >= 2) ? 2 : 1;
}

#endif /* GLOWMCU_BACK_WINDOW_H */

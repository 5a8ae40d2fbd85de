/*
 * glowmcu_conv_2d_step_tap.h: weights of a convolution at a tap move against their gradient.
 */
#ifndef GLOWMCU_CONV_2D_STEP_TAP_H
#define GLOWMCU_CONV_2D_STEP_TAP_H

#include "glowmcu_gradient_down.h"
#include "glowmcu_window_step.h"

/* Sums over the windows that a tap is inside of, of one output channel's numbers. */
GLOWMCU_CODE
static int32_t glowmcu_seen_sum(const glowmcu_window_step *p, const int16_t *gradient,
    const glowmcu_seen *seen)
{
    int32_t sum = 0;

    for (int32_t oy = seen->ys.first; oy < seen->ys.end; ++oy) {
        const int16_t *g = gradient + (oy * p->out_width + seen->xs.first) * p->out_channels;
        for (int32_t ox = seen->xs.first; ox < seen->xs.end; ++ox) {
            sum += *g;
            g += p->out_channels;
        }
    }
    return sum;
}

/* Products of numbers of `outputs` (1 or 2) channels with one of int8, in acc[0] and acc[4]. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step_one(const glowmcu_gradient_run *row, int32_t outputs,
    int32_t acc[8])
{
    glowmcu_gradient_run run = *row;

    acc[0] = glowmcu_gradient_run1(&run, acc[0]);
    if (outputs == 2) {
        run.gradient += 1;
        acc[4] = glowmcu_gradient_run1(&run, acc[4]);
    }
}

/* Products of `outputs` (1 or 2) with `inputs` (1, 2 or 4) channels at a tap, in acc[4 * output];
 * four inputs with DSP instructions, and two outputs, alone. */
GLOWMCU_CODE
static void glowmcu_conv_2d_step_sums(const glowmcu_window_step *p, const int16_t *gradient,
    const int8_t *in, const glowmcu_seen *seen, int32_t outputs, int32_t inputs, int32_t acc[8])
{
    for (int32_t i = 0; i < 8; ++i) {
        acc[i] = 0;
    }
    for (int32_t oy = seen->ys.first; oy < seen->ys.end; ++oy) {
        glowmcu_gradient_run run = glowmcu_row_run(p, gradient, in, seen, oy);
#if GLOWMCU_HAS_DSP
        if (inputs == 4) {
            glowmcu_gradient_down_fours(&run, acc);
            continue;
        }
#endif
        if (inputs == 2 && outputs == 2) {
            int32_t pair[4] = {acc[0], acc[1], acc[4], acc[5]};
            glowmcu_gradient_down(&run, pair);
            acc[0] = pair[0];
            acc[1] = pair[1];
            acc[4] = pair[2];
            acc[5] = pair[3];
        } else {
            for (int32_t i = 0; i < inputs; ++i) {
                glowmcu_conv_2d_step_one(&run, outputs, acc + i);
                run.x += 1;
            }
        }
    }
}

/* How many of `left` input channels go together with `outputs` (1 or 2). */
GLOWMCU_CODE
static inline int32_t glowmcu_conv_2d_step_inputs(int32_t left, int32_t outputs)
{
#if GLOWMCU_HAS_DSP
    if (outputs == 2 && left >= 4) {
        return 4;
    }
#else
    (void)outputs;
#endif
    return (left >= 2) ? 2 : 1;
}

/* The weights of `outputs` channels from `oc` on at one tap, which begin at `first`. */
GLOWMCU_CODE
static void glowmcu_conv_2d_step_tap(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int16_t *gradient, const int8_t *in,
    const glowmcu_seen *seen, int32_t outputs, const glowmcu_speed scales[2], int32_t first)
{
    const int32_t filter = p->kernel_height * p->kernel_width * p->in_channels;
    int32_t points[2];
    int32_t ic = 0;

    points[0] = p->in_zero_point * glowmcu_seen_sum(p, gradient, seen);
    points[1] = p->in_zero_point * glowmcu_seen_sum(p, gradient + outputs - 1, seen);
    while (ic < p->in_channels) {
        const int32_t inputs = glowmcu_conv_2d_step_inputs(p->in_channels - ic, outputs);
        int32_t acc[8];
        glowmcu_conv_2d_step_sums(p, gradient, in + ic, seen, outputs, inputs, acc);
        for (int32_t o = 0; o < outputs; ++o) {
            for (int32_t i = 0; i < inputs; ++i) {
                glowmcu_move_weight(w, first + o * filter + ic + i, acc[4 * o + i] - points[o],
                    &scales[o]);
            }
        }
        ic += inputs;
    }
}

#endif /* GLOWMCU_CONV_2D_STEP_TAP_H */

/*
 * glowmcu_conv_2d_step.h: weights of a convolution move against their gradient.
 */
#ifndef GLOWMCU_CONV_2D_STEP_H
#define GLOWMCU_CONV_2D_STEP_H

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

/* Products of `outputs` (1 or 2) with `inputs` (1 or 2) channels at a tap, in acc[2 * output]. */
GLOWMCU_CODE
static void glowmcu_conv_2d_step_sums(const glowmcu_window_step *p, const int16_t *gradient,
    const int8_t *in, const glowmcu_seen *seen, int32_t outputs, int32_t inputs, int32_t acc[4])
{
    for (int32_t i = 0; i < 4; ++i) {
        acc[i] = 0;
    }
    for (int32_t oy = seen->ys.first; oy < seen->ys.end; ++oy) {
        glowmcu_gradient_run run = glowmcu_row_run(p, gradient, in, seen, oy);
        if (inputs == 2 && outputs == 2) {
            glowmcu_gradient_down(&run, acc);
        } else {
            /* An input or an output alone: of the other there are two, or one. */
            acc[0] = glowmcu_gradient_run1(&run, acc[0]);
            run.gradient += outputs - 1;
            acc[2] = glowmcu_gradient_run1(&run, acc[2]);
            run.x += inputs - 1;
            acc[1] = glowmcu_gradient_run1(&run, acc[1]);
        }
    }
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
        const int32_t inputs = (p->in_channels - ic >= 2) ? 2 : 1;
        int32_t acc[4];
        glowmcu_conv_2d_step_sums(p, gradient, in + ic, seen, outputs, inputs, acc);
        for (int32_t o = 0; o < outputs; ++o) {
            for (int32_t i = 0; i < inputs; ++i) {
                glowmcu_move_weight(w, first + o * filter + ic + i, acc[2 * o + i] - points[o],
                    &scales[o]);
            }
        }
        ic += inputs;
    }
}

/* The weights of one output channel where a layer sees one pixel: a product each. */
GLOWMCU_CODE
static void glowmcu_one_pixel_step(const glowmcu_window_step *p, const glowmcu_moving_weights *w,
    int32_t g, const int8_t *in, const glowmcu_speed *scale, int32_t first)
{
    for (int32_t ic = 0; ic < p->in_channels; ++ic) {
        glowmcu_move_weight(w, first + ic, g * (in[ic] - p->in_zero_point), scale);
    }
}

GLOWMCU_CODE
static void glowmcu_conv_2d_weights_step(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int16_t *gradient, const int32_t *common,
    const float *rate, const int8_t *in)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t filter = p->kernel_height * p->kernel_width * p->in_channels;
    const int32_t *factor = p->factors;
    const int32_t is_pixel = (p->in_height * p->in_width == 1
        && p->kernel_height * p->kernel_width == 1) ? 1 : 0;
    int32_t oc = 0;

    while (oc < p->learning) {
        const int32_t outputs = (!is_pixel && p->learning - oc >= 2) ? 2 : 1;
        glowmcu_speed scales[2];
        scales[0] = glowmcu_step_factor(speed, factor, common[0]);
        factor += p->factor_step;
        scales[1] = scales[0];
        if (outputs == 2) {
            scales[1] = glowmcu_step_factor(speed, factor, common[0]);
            factor += p->factor_step;
        }
        if (is_pixel) {
            glowmcu_one_pixel_step(p, w, gradient[oc], in, &scales[0], oc * filter);
        }
        for (int32_t ky = 0; !is_pixel && ky < p->kernel_height; ++ky) {
            for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
                const glowmcu_seen seen = glowmcu_seen_by_tap(p, ky, kx);
                const int32_t at = oc * filter + (ky * p->kernel_width + kx) * p->in_channels;
                glowmcu_conv_2d_step_tap(p, w, gradient + oc, in, &seen, outputs, scales, at);
            }
        }
        oc += outputs;
    }
}

/* `kept` and `moved` are [learning][kernel_height][kernel_width][in_channels]
 * and may be the same; a gradient of the weights is never stored. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step(const glowmcu_window_step *p, const int16_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved)
{
    const glowmcu_moving_weights w = {kept, moved, NULL, NULL, 0};

    glowmcu_conv_2d_weights_step(p, &w, gradient, common, rate, in);
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step_with_momentum(const glowmcu_window_step *p,
    const int16_t *kept, const int16_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, const int32_t *velocity, const float *momentum, int16_t *moved,
    int32_t *new_velocity)
{
    const glowmcu_moving_weights w = {kept, moved, velocity, new_velocity,
        glowmcu_momentum_part(momentum)};

    glowmcu_conv_2d_weights_step(p, &w, gradient, common, rate, in);
}

#endif /* GLOWMCU_CONV_2D_STEP_H */

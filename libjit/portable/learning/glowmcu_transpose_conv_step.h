/*
 * glowmcu_transpose_conv_step.h: weights of a transposed convolution move against their gradient.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_STEP_H
#define GLOWMCU_TRANSPOSE_CONV_STEP_H

#include "glowmcu_gradient_down.h"
#include "glowmcu_window_step.h"

/* Pixels of the image that a tap spreads into the result: position = origin + pixel * stride. */
GLOWMCU_CODE
static inline glowmcu_seen glowmcu_spread_by_tap(const glowmcu_window_step *p, int32_t ky,
    int32_t kx)
{
    glowmcu_seen seen;

    seen.ys = glowmcu_taps_inside(ky - p->pad_top, p->in_height, p->stride_y, p->out_height);
    seen.xs = glowmcu_taps_inside(kx - p->pad_left, p->in_width, p->stride_x, p->out_width);
    return seen;
}

/* The run of a row of pixels: `gradient` and `in` begin with the channels that it is of. */
GLOWMCU_CODE
static inline glowmcu_gradient_run glowmcu_spread_run(const glowmcu_window_step *p,
    const int16_t *gradient, const int8_t *in, const glowmcu_seen *seen, int32_t y)
{
    const int32_t out_y = seen->ys.origin + y * p->stride_y;
    const int32_t out_x = seen->xs.origin + seen->xs.first * p->stride_x;
    glowmcu_gradient_run run;

    run.gradient = gradient + (out_y * p->out_width + out_x) * p->out_channels;
    run.step = p->stride_x * p->out_channels;
    run.x = in + (y * p->in_width + seen->xs.first) * p->in_channels;
    run.x_step = p->in_channels;
    run.count = seen->xs.end - seen->xs.first;
    return run;
}

/* Products of one or two output channels with one or two inputs, in acc[2 * output + input], and
 * the sums of the numbers of both outputs. */
GLOWMCU_CODE
static void glowmcu_spread_sums(const glowmcu_window_step *p, const int16_t *gradient,
    const int8_t *in, const glowmcu_seen *seen, int32_t is_pair, int32_t acc[4], int32_t sums[2])
{
    for (int32_t i = 0; i < 4; ++i) {
        acc[i] = 0;
    }
    sums[0] = 0;
    sums[1] = 0;
    for (int32_t y = seen->ys.first; y < seen->ys.end; ++y) {
        const glowmcu_gradient_run run = glowmcu_spread_run(p, gradient, in, seen, y);
        const int16_t *g = run.gradient;
        if (is_pair != 0) {
            glowmcu_gradient_down(&run, acc);
        } else {
            acc[0] = glowmcu_gradient_run1(&run, acc[0]);
        }
        for (int32_t i = 0; i < run.count; ++i) {
            sums[0] += g[0];
            sums[1] += g[is_pair];
            g += run.step;
        }
    }
}

/* Weights of a tap, from output channel `oc` and input channel `ic` on: `outputs` times `inputs`,
 * two each or one of them. */
GLOWMCU_CODE
static void glowmcu_spread_tap(const glowmcu_window_step *p, const glowmcu_moving_weights *w,
    const int16_t *gradient, const int8_t *in, const glowmcu_seen *seen, int32_t outputs,
    int32_t inputs, const glowmcu_speed scales[2], int32_t first)
{
    const int32_t filter = p->kernel_height * p->kernel_width * p->in_channels;
    int32_t acc[4];
    int32_t sums[2];

    if (outputs == 2 && inputs == 2) {
        glowmcu_spread_sums(p, gradient, in, seen, 1, acc, sums);
        for (int32_t i = 0; i < 4; ++i) {
            glowmcu_move_weight(w, first + (i >> 1) * filter + (i & 1),
                acc[i] - p->in_zero_point * sums[i >> 1], &scales[i >> 1]);
        }
    } else {
        for (int32_t o = 0; o < outputs; ++o) {
            for (int32_t i = 0; i < inputs; ++i) {
                glowmcu_spread_sums(p, gradient + o, in + i, seen, 0, acc, sums);
                glowmcu_move_weight(w, first + o * filter + i,
                    acc[0] - p->in_zero_point * sums[0], &scales[o]);
            }
        }
    }
}

GLOWMCU_CODE
static void glowmcu_transpose_conv_weights_step(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int16_t *gradient, const int32_t *common,
    const float *rate, const int8_t *in)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t taps = p->kernel_height * p->kernel_width;
    const int32_t *factor = p->factors;

    for (int32_t oc = 0; oc < p->learning; oc += 2) {
        const int32_t outputs = (p->learning - oc >= 2) ? 2 : 1;
        glowmcu_speed scales[2];
        scales[0] = glowmcu_step_factor(speed, factor, common[0]);
        scales[1] = glowmcu_step_factor(speed, factor + (outputs - 1) * p->factor_step,
            common[0]);
        factor += 2 * p->factor_step;
        for (int32_t tap = 0; tap < taps; ++tap) {
            const glowmcu_seen seen = glowmcu_spread_by_tap(p, tap / p->kernel_width,
                tap % p->kernel_width);
            for (int32_t ic = 0; ic < p->in_channels; ic += 2) {
                glowmcu_spread_tap(p, w, gradient + oc, in + ic, &seen, outputs,
                    (p->in_channels - ic >= 2) ? 2 : 1, scales,
                    (oc * taps + tap) * p->in_channels + ic);
            }
        }
    }
}

/* `kept` and `moved` are [learning][kernel_height][kernel_width][in_channels]
 * and may be the same; a gradient of the weights is never stored. */
GLOWMCU_CODE
static inline void glowmcu_transpose_conv_step(const glowmcu_window_step *p, const int16_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved)
{
    const glowmcu_moving_weights w = {kept, moved, NULL, NULL, 0};

    glowmcu_transpose_conv_weights_step(p, &w, gradient, common, rate, in);
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_transpose_conv_step_with_momentum(const glowmcu_window_step *p,
    const int16_t *kept, const int16_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, const int32_t *velocity, const float *momentum, int16_t *moved,
    int32_t *new_velocity)
{
    const glowmcu_moving_weights w = {kept, moved, velocity, new_velocity,
        glowmcu_momentum_part(momentum)};

    glowmcu_transpose_conv_weights_step(p, &w, gradient, common, rate, in);
}

#endif /* GLOWMCU_TRANSPOSE_CONV_STEP_H */

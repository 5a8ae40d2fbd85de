/*
 * glowmcu_window_step.h: which pixels a tap of a convolution sees, and what weights' steps need.
 */
#ifndef GLOWMCU_WINDOW_STEP_H
#define GLOWMCU_WINDOW_STEP_H

#include "glowmcu_gradient_runs.h"
#include "glowmcu_parameter_step.h"
#include "glowmcu_window.h"

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
    int32_t in_zero_point;
    int32_t learning;       /* output channels, the first ones */
    int32_t factor_step;    /* 2 for a factor an output channel, 0 for one */
    const int32_t *factors; /* number and exponent */
} glowmcu_window_step;

/* Weights and what they become, and with momentum their velocities; else those are null. */
typedef struct {
    const int16_t *kept;
    int16_t *moved;
    const int32_t *velocity;
    int32_t *new_velocity;
    int32_t part; /* of 2^15 that a velocity keeps */
} glowmcu_moving_weights;

/* Weight `at` moves against a sum. Within its loop it is known whether there are velocities. */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_move_weight(const glowmcu_moving_weights *w,
    int32_t at, int32_t sum, const glowmcu_speed *scale)
{
    int32_t step;

    if (w->velocity != NULL) {
        w->new_velocity[at] = glowmcu_velocity(w->velocity[at], w->part, sum, scale);
        step = glowmcu_rounded_shift(w->new_velocity[at], 8);
    } else {
        step = glowmcu_scaled_step(sum, *scale, GLOWMCU_WEIGHT_LIMIT);
    }
    w->moved[at] = (int16_t)glowmcu_moved(w->kept[at], step, GLOWMCU_WEIGHT_LIMIT);
}

/* Windows for which a tap lies inside the image: position = origin + window * stride. */
typedef struct {
    glowmcu_taps ys;
    glowmcu_taps xs;
} glowmcu_seen;

GLOWMCU_CODE
static inline glowmcu_seen glowmcu_seen_by_tap(const glowmcu_window_step *p, int32_t ky,
    int32_t kx)
{
    glowmcu_seen seen;

    seen.ys = glowmcu_taps_inside(ky * p->dilation_y - p->pad_top, p->out_height, p->stride_y,
        p->in_height);
    seen.xs = glowmcu_taps_inside(kx * p->dilation_x - p->pad_left, p->out_width, p->stride_x,
        p->in_width);
    return seen;
}

/* The run of a row of windows: `gradient` and `in` begin with the channels that it is of. */
GLOWMCU_CODE
static inline glowmcu_gradient_run glowmcu_row_run(const glowmcu_window_step *p,
    const int16_t *gradient, const int8_t *in, const glowmcu_seen *seen, int32_t oy)
{
    const int32_t in_y = seen->ys.origin + oy * p->stride_y;
    const int32_t in_x = seen->xs.origin + seen->xs.first * p->stride_x;
    glowmcu_gradient_run run;

    run.gradient = gradient + (oy * p->out_width + seen->xs.first) * p->out_channels;
    run.step = p->out_channels;
    run.x = in + (in_y * p->in_width + in_x) * p->in_channels;
    run.x_step = p->stride_x * p->in_channels;
    run.count = seen->xs.end - seen->xs.first;
    return run;
}

#endif /* GLOWMCU_WINDOW_STEP_H */

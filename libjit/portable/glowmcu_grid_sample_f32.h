/*
 * glowmcu_grid_sample_f32.h: an image read at computed places, NHWC.
 */
#ifndef GLOWMCU_GRID_SAMPLE_F32_H
#define GLOWMCU_GRID_SAMPLE_F32_H

#include "glowmcu_base.h"

typedef struct {
    int32_t batches;
    int32_t height;
    int32_t width;
    int32_t depth;
    int32_t places;    /* of a batch */
    int32_t is_linear; /* four neighbours; else the nearest one */
    int32_t is_border; /* outside is the nearest pixel inside; else zeros */
    int32_t aligns;    /* -1 and 1 are the middles of the outermost pixels; else their edges */
} glowmcu_grid_sample;

/* A position between two pixels, and the nearer one of them. */
typedef struct {
    int32_t lower;
    int32_t nearest; /* halves to the even one */
    float fraction;  /* distance from lower, in [0, 1) */
} glowmcu_grid_place;

/* `at` is -1 to 1 inside. Not-a-number is outside, as is what no int32_t could hold. */
GLOWMCU_CODE
static inline glowmcu_grid_place glowmcu_grid_place_of(const glowmcu_grid_sample *p, float at,
    int32_t size)
{
    const float end = (float)size + 2.0f;
    const float moved = at + 1.0f;
    float place = (p->aligns != 0) ? moved * 0.5f * (float)(size - 1)
        : (moved * (float)size - 1.0f) * 0.5f;
    glowmcu_grid_place found;

    place = (place >= -2.0f) ? place : -2.0f;
    place = (place > end) ? end : place;
    found.lower = (int32_t)(place + 2.0f) - 2; /* what is cut off is not negative */
    found.lower -= ((float)found.lower > place) ? 1 : 0;
    found.fraction = place - (float)found.lower;
    found.nearest = found.lower;
    if ((found.fraction > 0.5f) || ((found.fraction == 0.5f) && ((found.lower & 1) != 0))) {
        ++found.nearest;
    }
    return found;
}

/* Adds `weight` times the pixel at a row and a column of one batch. */
GLOWMCU_CODE
static void glowmcu_grid_add(const glowmcu_grid_sample *p, const float *image, float *out,
    int32_t row, int32_t column, float weight)
{
    int32_t y = row;
    int32_t x = column;

    if (p->is_border != 0) {
        y = (y < 0) ? 0 : ((y < p->height) ? y : p->height - 1);
        x = (x < 0) ? 0 : ((x < p->width) ? x : p->width - 1);
    }
    if ((y >= 0) && (y < p->height) && (x >= 0) && (x < p->width)) {
        const float *pixel = image + (y * p->width + x) * p->depth;
        for (int32_t c = 0; c < p->depth; ++c) {
            out[c] += pixel[c] * weight;
        }
    }
}

/*
 * `in` is [batches][height][width][depth], `grid` [batches][places][2] (column, row), `out`
 * [batches][places][depth]. They may not overlap.
 */
GLOWMCU_CODE
static void glowmcu_grid_sample_f32(const glowmcu_grid_sample *p, const float *in,
    const float *grid, float *out)
{
    const int32_t image = p->height * p->width * p->depth;
    const float *at = grid;
    float *pixel = out;

    for (int32_t place = 0; place < p->batches * p->places; ++place, at += 2, pixel += p->depth) {
        const glowmcu_grid_place x = glowmcu_grid_place_of(p, at[0], p->width);
        const glowmcu_grid_place y = glowmcu_grid_place_of(p, at[1], p->height);
        const float *first = in + (place / p->places) * image;
        for (int32_t c = 0; c < p->depth; ++c) {
            pixel[c] = 0.0f;
        }
        if (p->is_linear != 0) {
            const float above = 1.0f - y.fraction;
            const float left = 1.0f - x.fraction;
            glowmcu_grid_add(p, first, pixel, y.lower, x.lower, above * left);
            glowmcu_grid_add(p, first, pixel, y.lower, x.lower + 1, above * x.fraction);
            glowmcu_grid_add(p, first, pixel, y.lower + 1, x.lower, y.fraction * left);
            glowmcu_grid_add(p, first, pixel, y.lower + 1, x.lower + 1, y.fraction * x.fraction);
        } else {
            glowmcu_grid_add(p, first, pixel, y.nearest, x.nearest, 1.0f);
        }
    }
}

#endif /* GLOWMCU_GRID_SAMPLE_F32_H */

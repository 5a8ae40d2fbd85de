/*
 * glowmcu_non_max_suppression.h: which boxes of each class stay, as rows of batch, class and box.
 */
#ifndef GLOWMCU_NON_MAX_SUPPRESSION_H
#define GLOWMCU_NON_MAX_SUPPRESSION_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t batches;
    int32_t classes;
    int32_t boxes;
    int32_t most;            /* boxes of a class that stay */
    float score_threshold;   /* least score of those */
    float overlap_threshold; /* largest overlap of two */
} glowmcu_non_max_suppression;

GLOWMCU_CODE
static inline float glowmcu_box_area(const float *box)
{
    return (box[2] - box[0]) * (box[3] - box[1]);
}

/* What two boxes have in common along an axis, of which they have numbers 0 and 2. */
GLOWMCU_CODE
static inline float glowmcu_box_shared(const float *a, const float *b)
{
    const float low = (a[0] < b[0]) ? b[0] : a[0];
    const float high = (b[2] < a[2]) ? b[2] : a[2];
    const float side = high - low;

    return (side < 0.0f) ? 0.0f : side;
}

/* Intersection over union. */
GLOWMCU_CODE
static inline float glowmcu_box_overlap(const float *a, const float *b)
{
    const float area_a = glowmcu_box_area(a);
    const float area_b = glowmcu_box_area(b);
    float shared;

    if (area_a <= 0.0f || area_b <= 0.0f) {
        return 0.0f;
    }
    shared = glowmcu_box_shared(a, b) * glowmcu_box_shared(a + 1, b + 1);
    return shared / (area_a + area_b - shared);
}

/* The first of the boxes with the highest score that may still stay; p->boxes if there is none. */
GLOWMCU_CODE
static int32_t glowmcu_box_best(const glowmcu_non_max_suppression *p, const float *scores,
    const uint8_t *is_out)
{
    int32_t best = p->boxes;

    for (int32_t box = 0; box < p->boxes; ++box) {
        if (is_out[box] == 0u && scores[box] >= p->score_threshold
            && (best == p->boxes || scores[box] > scores[best])) {
            best = box;
        }
    }
    return best;
}

/*
 * `boxes` [batches][boxes][4] as ymin, xmin, ymax, xmax, `scores` [batches][classes][boxes];
 * `rows` [batches * classes * most][3], -1 behind the last one, and `count`: nothing overlaps.
 * `scratch` has a byte a box.
 */
GLOWMCU_CODE
static void glowmcu_non_max_suppression_f32(const glowmcu_non_max_suppression *p,
    const float *boxes, const float *scores, int32_t *rows, int32_t *count, void *scratch)
{
    uint8_t *is_out = (uint8_t *)scratch;
    const int32_t groups = p->batches * p->classes;
    int32_t n = 0;

    for (int32_t group = 0; group < groups; ++group, scores += p->boxes) {
        const int32_t batch = group / p->classes;
        const float *own = boxes + 4 * p->boxes * batch;

        (void)memset(is_out, 0, (size_t)p->boxes);
        for (int32_t found = 0; found < p->most; ++found, ++n) {
            const int32_t best = glowmcu_box_best(p, scores, is_out);
            if (best == p->boxes) {
                break;
            }
            rows[3 * n] = batch;
            rows[3 * n + 1] = group - p->classes * batch;
            rows[3 * n + 2] = best;
            is_out[best] = 1u;
            for (int32_t box = 0; box < p->boxes; ++box) {
                if (is_out[box] == 0u
                    && glowmcu_box_overlap(own + 4 * best, own + 4 * box) > p->overlap_threshold) {
                    is_out[box] = 1u;
                }
            }
        }
    }
    *count = n;
    for (int32_t i = 3 * n; i < 3 * groups * p->most; ++i) {
        rows[i] = -1;
    }
}

#endif /* GLOWMCU_NON_MAX_SUPPRESSION_H */

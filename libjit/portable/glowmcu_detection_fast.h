/*
 * glowmcu_detection_fast.h: detections, boxes compared by the score of their best class.
 */
#ifndef GLOWMCU_DETECTION_FAST_H
#define GLOWMCU_DETECTION_FAST_H

#include "glowmcu_detection.h"

/*
 * The best class behind `after` in the order of `scores`, the best of all for -1; where there is
 * none whose score is a number, `after`.
 */
GLOWMCU_CODE
static int32_t glowmcu_detection_next_class(const float *scores, int32_t classes, int32_t after)
{
    int32_t best = -1;

    for (int32_t c = 0; c < classes; ++c) {
        const int32_t is_number = (scores[c] >= scores[c]) ? 1 : 0;
        const int32_t is_left = (after < 0) ? 1 : glowmcu_detection_is_before(scores, after, c);
        if (is_number != 0 && is_left != 0 && (best < 0 || scores[c] > scores[best])) {
            best = c;
        }
    }
    return (best < 0) ? after : best;
}

/*
 * `codes` [boxes][code_length], `scores` [boxes][classes], `anchors` [boxes][4] as y, x, h, w.
 * `corners` [places][4], `kinds` and `found` [places], `count` one number: nothing overlaps.
 * `scratch` has 24 bytes a box.
 */
GLOWMCU_CODE
static void glowmcu_detection_fast(const glowmcu_detection *p, const float *codes,
    const float *scores, const float *anchors, float *corners, float *kinds, float *found,
    float *count, void *scratch)
{
    float *boxes = (float *)scratch;
    float *best = boxes + 4 * p->boxes;
    int32_t *order = (int32_t *)(void *)(best + p->boxes);
    const int32_t classes = p->classes - p->first_class;
    int32_t n = 0;
    int32_t stay;

    (void)memset(corners, 0, (size_t)(4 * p->places) * sizeof *corners);
    (void)memset(kinds, 0, (size_t)p->places * sizeof *kinds);
    (void)memset(found, 0, (size_t)p->places * sizeof *found);
    *count = 0.0f;
    if (glowmcu_detection_decode(p, codes, anchors, boxes) == 0) {
        return;
    }
    for (int32_t box = 0; box < p->boxes; ++box) {
        const float *x = scores + box * p->classes + p->first_class;
        best[box] = x[0];
        for (int32_t c = 1; c < classes; ++c) {
            best[box] = (x[c] > best[box]) ? x[c] : best[box];
        }
    }
    stay = glowmcu_detection_suppress(p, boxes, best, order, p->most);
    for (int32_t i = 0; i < stay; ++i) {
        const float *x = scores + order[i] * p->classes + p->first_class;
        int32_t kind = -1;
        for (int32_t rank = 0; rank < p->each; ++rank, ++n) {
            const int32_t place = p->each * n + rank;
            kind = glowmcu_detection_next_class(x, classes, kind);
            (void)memcpy(corners + 4 * place, boxes + 4 * order[i], 4u * sizeof *corners);
            kinds[place] = (float)kind;
            found[place] = x[kind];
        }
    }
    *count = (float)n;
}

#endif /* GLOWMCU_DETECTION_FAST_H */

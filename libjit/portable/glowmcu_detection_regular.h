/*
 * glowmcu_detection_regular.h: detections, the boxes of every class on its own.
 */
#ifndef GLOWMCU_DETECTION_REGULAR_H
#define GLOWMCU_DETECTION_REGULAR_H

#include "glowmcu_detection.h"

/* Puts a score among the best `most`, behind its equals; how many there are is returned. */
GLOWMCU_CODE
static int32_t glowmcu_detection_insert(float *tops, int32_t *places, int32_t count, int32_t most,
    float score, int32_t place)
{
    int32_t at = count;

    while (at > 0 && tops[at - 1] < score) {
        --at;
    }
    if (at >= most) {
        return count;
    }
    for (int32_t i = (count < most) ? count : most - 1; i > at; --i) {
        tops[i] = tops[i - 1];
        places[i] = places[i - 1];
    }
    tops[at] = score;
    places[at] = place;
    return (count < most) ? count + 1 : most;
}

/*
 * `codes` [boxes][code_length], `scores` [boxes][classes], `anchors` [boxes][4] as y, x, h, w.
 * `corners` [places][4], `kinds` and `found` [places], `count` one number: nothing overlaps.
 * `scratch` has 24 bytes a box and 4 a detection.
 */
GLOWMCU_CODE
static void glowmcu_detection_regular(const glowmcu_detection *p, const float *codes,
    const float *scores, const float *anchors, float *corners, float *kinds, float *found,
    float *count, void *scratch)
{
    float *boxes = (float *)scratch;
    float *column = boxes + 4 * p->boxes;
    int32_t *order = (int32_t *)(void *)(column + p->boxes);
    int32_t *tops = order + p->boxes;
    int32_t n = 0;

    (void)memset(corners, 0, (size_t)(4 * p->places) * sizeof *corners);
    (void)memset(kinds, 0, (size_t)p->places * sizeof *kinds);
    (void)memset(found, 0, (size_t)p->places * sizeof *found);
    *count = 0.0f;
    if (glowmcu_detection_decode(p, codes, anchors, boxes) == 0) {
        return;
    }
    for (int32_t c = p->first_class; c < p->classes; ++c) {
        int32_t stay;
        for (int32_t box = 0; box < p->boxes; ++box) {
            column[box] = scores[box * p->classes + c];
        }
        stay = glowmcu_detection_suppress(p, boxes, column, order, p->each);
        for (int32_t i = 0; i < stay; ++i) {
            n = glowmcu_detection_insert(found, tops, n, p->most, column[order[i]],
                order[i] * p->classes + c);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t box = tops[i] / p->classes;
        (void)memcpy(corners + 4 * i, boxes + 4 * box, 4u * sizeof *corners);
        kinds[i] = (float)(tops[i] - box * p->classes - p->first_class);
    }
    *count = (float)n;
}

#endif /* GLOWMCU_DETECTION_REGULAR_H */

/*
 * glowmcu_detection.h: boxes from their codes, and non-maximum suppression of one class of them.
 */
#ifndef GLOWMCU_DETECTION_H
#define GLOWMCU_DETECTION_H

#include <string.h>

#include "glowmcu_exp_wide.h"

typedef struct {
    int32_t boxes;
    int32_t code_length;     /* numbers of a box's code, at least 4 */
    int32_t classes;         /* scores of a box */
    int32_t first_class;     /* 1 behind a background, else 0 */
    int32_t places;          /* of results */
    int32_t most;            /* detections */
    int32_t each;            /* classes of a box, or boxes of a class, at most */
    float score_threshold;
    float overlap_threshold;
    float y_scale;
    float x_scale;
    float h_scale;
    float w_scale;
} glowmcu_detection;

/* One of ymin, xmin, ymax, xmax and so on; `box` and `anchor` have four numbers each. */
GLOWMCU_CODE
static inline void glowmcu_detection_decode_axis(float center, float length, const float *scales,
    const float *anchor, float *box)
{
    const double size = (double)anchor[2];
    const float middle = glowmcu_narrow((double)center / (double)scales[0] * size
        + (double)anchor[0]);
    const float half = glowmcu_narrow(0.5 * glowmcu_exp_wide((double)length / (double)scales[1])
        * size);

    box[0] = middle - half;
    box[2] = middle + half;
}

/* `boxes` is [p->boxes][4]; 0 if the corners of one of them are in no order. */
GLOWMCU_CODE
static int32_t glowmcu_detection_decode(const glowmcu_detection *p, const float *codes,
    const float *anchors, float *boxes)
{
    const float y_scales[2] = {p->y_scale, p->h_scale};
    const float x_scales[2] = {p->x_scale, p->w_scale};
    int32_t in_order = 1;

    for (int32_t box = 0; box < p->boxes; ++box, codes += p->code_length, anchors += 4) {
        float *corners = boxes + 4 * box;
        glowmcu_detection_decode_axis(codes[0], codes[2], y_scales, anchors, corners);
        glowmcu_detection_decode_axis(codes[1], codes[3], x_scales, anchors + 1, corners + 1);
        if (corners[0] >= corners[2] || corners[1] >= corners[3]) {
            in_order = 0;
        }
    }
    return in_order;
}

GLOWMCU_CODE
static inline float glowmcu_detection_area(const float *box)
{
    return (box[2] - box[0]) * (box[3] - box[1]);
}

/* What two boxes have in common along an axis, of which they have numbers 0 and 2. */
GLOWMCU_CODE
static inline float glowmcu_detection_shared(const float *a, const float *b)
{
    const float low = (a[0] < b[0]) ? b[0] : a[0];
    const float high = (b[2] < a[2]) ? b[2] : a[2];
    const float side = high - low;

    return (side < 0.0f) ? 0.0f : side;
}

/* Intersection over union. */
GLOWMCU_CODE
static inline float glowmcu_detection_overlap(const float *a, const float *b)
{
    const float area_a = glowmcu_detection_area(a);
    const float area_b = glowmcu_detection_area(b);
    float shared;

    if (area_a <= 0.0f || area_b <= 0.0f) {
        return 0.0f;
    }
    shared = glowmcu_detection_shared(a, b) * glowmcu_detection_shared(a + 1, b + 1);
    return shared / (area_a + area_b - shared);
}

/* Higher scores come first, and of equal ones the box with the lower number. */
GLOWMCU_CODE
static inline int32_t glowmcu_detection_is_before(const float *scores, int32_t a, int32_t b)
{
    if (scores[a] > scores[b]) {
        return 1;
    }
    return (!(scores[a] < scores[b]) && a < b) ? 1 : 0;
}

/* Below `root`, `order` is a heap whose root comes last of all. */
GLOWMCU_CODE
static void glowmcu_detection_sift(const float *scores, int32_t *order, int32_t root,
    int32_t count)
{
    const int32_t box = order[root];
    int32_t at = root;
    int32_t child = 2 * root + 1;

    while (child < count) {
        if (child + 1 < count
            && glowmcu_detection_is_before(scores, order[child], order[child + 1]) != 0) {
            ++child;
        }
        if (glowmcu_detection_is_before(scores, order[child], box) != 0) {
            break;
        }
        order[at] = order[child];
        at = child;
        child = 2 * at + 1;
    }
    order[at] = box;
}

GLOWMCU_CODE
static void glowmcu_detection_sort(const float *scores, int32_t *order, int32_t count)
{
    for (int32_t root = count / 2 - 1; root >= 0; --root) {
        glowmcu_detection_sift(scores, order, root, count);
    }
    for (int32_t end = count - 1; end > 0; --end) {
        const int32_t last = order[0];
        order[0] = order[end];
        order[end] = last;
        glowmcu_detection_sift(scores, order, 0, end);
    }
}

/*
 * Boxes that stay, `most` at best, are the first of `order` ([p->boxes]); how many is returned.
 * Suppressed ones are -1 in it until then.
 */
GLOWMCU_CODE
static int32_t glowmcu_detection_suppress(const glowmcu_detection *p, const float *boxes,
    const float *scores, int32_t *order, int32_t most)
{
    int32_t kept = 0;
    int32_t found = 0;

    for (int32_t box = 0; box < p->boxes; ++box) {
        if (scores[box] >= p->score_threshold) {
            order[kept] = box;
            ++kept;
        }
    }
    glowmcu_detection_sort(scores, order, kept);
    for (int32_t i = 0; i < kept && found < most; ++i) {
        const int32_t box = order[i];
        if (box < 0) {
            continue;
        }
        order[found] = box;
        ++found;
        for (int32_t j = i + 1; j < kept; ++j) {
            if (order[j] >= 0 && glowmcu_detection_overlap(boxes + 4 * box, boxes + 4 * order[j])
                    > p->overlap_threshold) {
                order[j] = -1;
            }
        }
    }
    return found;
}

#endif /* GLOWMCU_DETECTION_H */

/*
 * glowmcu_axis_gradient.h: the gradient by what mixes the elements of an axis.
 */
#ifndef GLOWMCU_AXIS_GRADIENT_H
#define GLOWMCU_AXIS_GRADIENT_H

#include "glowmcu_input_gradient.h"

typedef struct {
    int32_t outer;          /* product of the axes in front */
    int32_t length;         /* of the gradient's axis */
    int32_t size;           /* of the result's axis */
    int32_t inner;          /* product of the axes behind */
    int32_t count;          /* numbers that an element gets from */
    int32_t reach;          /* largest sum of the magnitudes of an element's weights, below 2^15 */
    int32_t bits;           /* magnitudes of the result are at most 2^bits */
    const int16_t *starts;  /* [size] */
    const int16_t *weights; /* [size][count] */
} glowmcu_axis_gradient_layer;

/*
 * `gradient` [outer][length][inner] with `common`, exponent and peak; `out` [outer][size][inner]:
 * sums of `count` neighbours along the axis. Numbers are at most 2^14, so that sums are below 2^29.
 */
GLOWMCU_CODE
static void glowmcu_axis_gradient(const glowmcu_axis_gradient_layer *p, const int16_t *gradient,
    const int32_t *common, int16_t *out, int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1] * p->reach, p->bits);
    int32_t peak = 0;

    for (int32_t o = 0; o < p->outer; ++o) {
        const int16_t *weights = p->weights;
        for (int32_t i = 0; i < p->size; ++i) {
            const int16_t *first = gradient + p->starts[i] * p->inner;
            for (int32_t k = 0; k < p->inner; ++k) {
                const int16_t *g = first + k;
                int32_t sum = 0;
                for (int32_t j = 0; j < p->count; ++j) {
                    sum += *g * weights[j];
                    g += p->inner;
                }
                peak = glowmcu_store_gradient(out, sum, shift, peak);
                ++out;
            }
            weights += p->count;
        }
        gradient += p->length * p->inner;
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_AXIS_GRADIENT_H */

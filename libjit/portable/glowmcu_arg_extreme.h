/*
 * glowmcu_arg_extreme.h: where along an axis the largest or smallest int8 is.
 */
#ifndef GLOWMCU_ARG_EXTREME_H
#define GLOWMCU_ARG_EXTREME_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t outer;     /* product of the axes in front of the axis */
    int32_t length;    /* of the axis, at least 1 */
    int32_t inner;     /* product of the axes behind it */
    int32_t flip;      /* 0 for the largest; -1 for the smallest: ~x turns the order round */
    int32_t out_bytes; /* of one result: 4 or 8 */
} glowmcu_arg_extreme;

/*
 * `in` is [outer][length][inner], `out` int32 or int64 [outer][inner]; they may not overlap.
 * Among equal elements the first counts.
 */
GLOWMCU_CODE
static void glowmcu_arg_extreme_s8(const glowmcu_arg_extreme *p, const int8_t *in, void *out)
{
    uint8_t *to = (uint8_t *)out;

    for (int32_t outer = 0; outer < p->outer; ++outer, in += p->length * p->inner) {
        for (int32_t inner = 0; inner < p->inner; ++inner, to += p->out_bytes) {
            const int8_t *x = in + inner;
            int32_t best = x[0] ^ p->flip;
            int32_t index = 0;
            for (int32_t i = 1; i < p->length; ++i) {
                const int32_t value = x[i * p->inner] ^ p->flip;
                if (value > best) {
                    best = value;
                    index = i;
                }
            }
            if (p->out_bytes == 8) {
                const int64_t wide = index;
                (void)memcpy(to, &wide, sizeof wide);
            } else {
                (void)memcpy(to, &index, sizeof index);
            }
        }
    }
}

#endif /* GLOWMCU_ARG_EXTREME_H */

/*
 * acme_maximum_3.h: the largest of three int8 elements.
 */
#ifndef ACME_MAXIMUM_3_H
#define ACME_MAXIMUM_3_H

#include "glowmcu_base.h"

typedef struct {
    int32_t count;
} acme_maximum_3;

/* `out` overlaps no operand. */
static void acme_maximum_3_s8(const acme_maximum_3 *p, const int8_t *a, const int8_t *b,
                              const int8_t *c, int8_t *out)
{
    int32_t i;

    for (i = 0; i < p->count; ++i) {
        int8_t largest = a[i];
        if (b[i] > largest) {
            largest = b[i];
        }
        if (c[i] > largest) {
            largest = c[i];
        }
        out[i] = largest;
    }
}

#endif /* ACME_MAXIMUM_3_H */

/*
 * glowmcu_lookup.h: a function of one 8-bit element as a table of its 256 results.
 */
#ifndef GLOWMCU_LOOKUP_H
#define GLOWMCU_LOOKUP_H

#include "glowmcu_base.h"

typedef struct {
    int32_t count;
    const uint8_t *table; /* [256], by the operand's byte */
} glowmcu_lookup;

/* `count` bytes; `out` may be `in`. */
GLOWMCU_CODE
static void glowmcu_lookup_8(const glowmcu_lookup *p, const void *in, void *out)
{
    const uint8_t *table = p->table;
    const uint8_t *from = (const uint8_t *)in;
    uint8_t *to = (uint8_t *)out;
    int32_t i = 0;

    for (; i + 4 <= p->count; i += 4) {
        const uint8_t first = table[from[i]];
        const uint8_t second = table[from[i + 1]];
        const uint8_t third = table[from[i + 2]];
        const uint8_t fourth = table[from[i + 3]];
        to[i] = first;
        to[i + 1] = second;
        to[i + 2] = third;
        to[i + 3] = fourth;
    }
    for (; i < p->count; ++i) {
        to[i] = table[from[i]];
    }
}

#endif /* GLOWMCU_LOOKUP_H */

/*
 * glowmcu_stage.h: weights that are read many times, copied from flash to RAM before.
 *
 * Where flash makes the core wait, a layer that reads its weights for every few pixels takes fewer
 * cycles from a copy. It lies in the arena while the layer runs. A port may define, before this
 * header or on the command line,
 *   GLOWMCU_STAGE(to, from, size_bytes)  copy, by a DMA say, and return when all bytes are there
 * Both pointers and the size are multiples of 4.
 */
#ifndef GLOWMCU_STAGE_H
#define GLOWMCU_STAGE_H

#include <string.h>

#include "glowmcu_base.h"
#include "glowmcu_words.h"

#ifndef GLOWMCU_STAGE
#define GLOWMCU_STAGE(to, from, size_bytes) glowmcu_move_words(to, from, size_bytes)
#endif

/*
 * Parameters of a layer that point to a copy of its weights: the `parameters` are copied to `to`,
 * the `size_bytes` that their pointer at offset `field` points to right before that.
 */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static const void *glowmcu_staged(int8_t *to, const void *parameters,
    size_t parameter_bytes, size_t field, int32_t size_bytes)
{
    int8_t *const copy = to - size_bytes;
    const void *const there = copy;
    const void *from;

    (void)memcpy(to, parameters, parameter_bytes);
    (void)memcpy(&from, to + field, sizeof from);
    GLOWMCU_STAGE(copy, (const int8_t *)from, size_bytes);
    (void)memcpy(to + field, &there, sizeof there);
    return to;
}

/* The parameters `p`, a struct of `type` whose member `field` points to the weights. */
#define GLOWMCU_STAGED(to, p, type, field, size_bytes) \
    ((const type *)glowmcu_staged(to, &(p), sizeof(p), offsetof(type, field), size_bytes))

#endif /* GLOWMCU_STAGE_H */

/*
 * glowmcu_prefetch.h: weights that a DMA copies from flash to RAM while the layer before runs.
 *
 * A port with a DMA defines both, before this header or on the command line:
 *   GLOWMCU_STAGE_BEGIN(to, from, size_bytes)  have the DMA begin to copy, and return at once
 *   GLOWMCU_STAGE_END(to, from, size_bytes)    return when all bytes are there and the core sees
 *                                              them; without a data cache a barrier is enough
 * One copy is under way at a time, and none when a run has ended. Both pointers and the size are
 * multiples of 4. The core leaves the bytes of the copy alone, but uses those right beside it, in
 * the same lines of a data cache: an arena that a DMA writes to is not cached.
 * Without these two the core copies at the end, with GLOWMCU_STAGE.
 */
#ifndef GLOWMCU_PREFETCH_H
#define GLOWMCU_PREFETCH_H

#include <string.h>

#include "glowmcu_base.h"
#include "glowmcu_words.h"

#ifndef GLOWMCU_STAGE
#define GLOWMCU_STAGE(to, from, size_bytes) glowmcu_move_words(to, from, size_bytes)
#endif

#if defined(GLOWMCU_STAGE_BEGIN) != defined(GLOWMCU_STAGE_END)
#error "define both GLOWMCU_STAGE_BEGIN and GLOWMCU_STAGE_END, or none of them"
#endif

#ifndef GLOWMCU_STAGE_BEGIN
#define GLOWMCU_STAGE_BEGIN(to, from, size_bytes) ((void)(to), (void)(from), (void)(size_bytes))
#define GLOWMCU_STAGE_END(to, from, size_bytes) GLOWMCU_STAGE(to, from, size_bytes)
#endif

/* The `size_bytes` of `weights` begin to come in, right before `to`. */
GLOWMCU_CODE
static inline void glowmcu_prefetch(int8_t *to, const void *weights, int32_t size_bytes)
{
    GLOWMCU_STAGE_BEGIN(to - size_bytes, (const int8_t *)weights, size_bytes);
}

/*
 * Its end: the `parameters` of the layer are copied to `to`, and their pointer at offset `field`
 * points to the copy right before that.
 */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static void glowmcu_prefetched(int8_t *to, const void *parameters,
    size_t parameter_bytes, size_t field, int32_t size_bytes)
{
    int8_t *const copy = to - size_bytes;
    const void *const there = copy;
    const void *from;

    (void)memcpy(to, parameters, parameter_bytes);
    (void)memcpy(&from, to + field, sizeof from);
    GLOWMCU_STAGE_END(copy, (const int8_t *)from, size_bytes);
    (void)memcpy(to + field, &there, sizeof there);
}

/* The parameters `p`, a struct of `type` whose member `field` points to the weights. */
#define GLOWMCU_PREFETCHED(to, p, type, field, size_bytes) \
    glowmcu_prefetched(to, &(p), sizeof(p), offsetof(type, field), size_bytes)

#endif /* GLOWMCU_PREFETCH_H */

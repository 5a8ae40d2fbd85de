/*
 * glowmcu_cores_apart.h: two cores of which one has caches that the other does not see into.
 *
 * The bundle says GLOWMCU_CORES_LINE_BYTES, of a line of these caches. In no phase do both cores
 * write to a line, and each has its word for meetings in a line of its own. A port defines, before
 * this header or on the command line, for a core that caches the arena
 *   GLOWMCU_CORES_CLEAN(bytes, count)       what the core has written there is in memory on return
 *   GLOWMCU_CORES_INVALIDATE(bytes, count)  what it reads from there next comes from memory
 * both of whole lines, `bytes` of any type, which hold nothing that the core has written since it
 * cleaned them. For a core that does not (it has no cache, or the MPU says so):
 *   GLOWMCU_CORES_UNCACHED
 */
#ifndef GLOWMCU_CORES_APART_H
#define GLOWMCU_CORES_APART_H

#if defined(GLOWMCU_CORES) && GLOWMCU_CORES > 1 && defined(GLOWMCU_CORES_H)
#error "include glowmcu_cores_apart.h before glowmcu_cores.h"
#endif

#if defined(GLOWMCU_CORES) && GLOWMCU_CORES > 1 && !defined(GLOWMCU_CORES_UNCACHED)
#if !defined(GLOWMCU_CORES_CLEAN) || !defined(GLOWMCU_CORES_INVALIDATE)
#error "caches: define GLOWMCU_CORES_CLEAN and GLOWMCU_CORES_INVALIDATE, or GLOWMCU_CORES_UNCACHED"
#endif
#else
#undef GLOWMCU_CORES_CLEAN
#undef GLOWMCU_CORES_INVALIDATE
#define GLOWMCU_CORES_CLEAN(bytes, count) ((void)(bytes))
#define GLOWMCU_CORES_INVALIDATE(bytes, count) ((void)(bytes))
#endif

#ifndef GLOWMCU_CORES_SIGNAL
#define GLOWMCU_CORES_SIGNAL(words, core, meeting) \
    do { \
        GLOWMCU_CORES_BARRIER(); \
        (words)[GLOWMCU_CORES_WORD(core)] = (meeting); \
        GLOWMCU_CORES_CLEAN(&(words)[GLOWMCU_CORES_WORD(core)], GLOWMCU_CORES_LINE_BYTES); \
    } while (0)
#endif

#ifndef GLOWMCU_CORES_WAIT
#define GLOWMCU_CORES_WAIT(words, core, meeting) \
    do { \
        volatile uint32_t *const other = &(words)[GLOWMCU_CORES_WORD(1u - (core))]; \
\
        GLOWMCU_CORES_INVALIDATE(other, GLOWMCU_CORES_LINE_BYTES); \
        while ((int32_t)(*other - (meeting)) < 0) { \
            GLOWMCU_CORES_WAITING(); \
            GLOWMCU_CORES_INVALIDATE(other, GLOWMCU_CORES_LINE_BYTES); \
        } \
        GLOWMCU_CORES_BARRIER(); \
    } while (0)
#endif

#include "glowmcu_cores.h"

#endif /* GLOWMCU_CORES_APART_H */

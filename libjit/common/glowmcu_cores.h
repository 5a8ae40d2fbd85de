/*
 * glowmcu_cores.h: two cores that share the layers of a run, and how they meet.
 *
 * With -DGLOWMCU_CORES=2 the first core calls NAME_run and the second NAME_help: both take their
 * turns and wait for each other between them. Without it NAME_run computes both cores' shares
 * itself, so that it never waits for a core that is not there; NAME_help returns at once.
 *
 * Each core has a word in the arena in which it counts its meetings; it alone writes it. A port may
 * define, before this header or on the command line,
 *   GLOWMCU_CORES_SIGNAL(words, core, meeting)  that `core` has come to the meeting of that number
 *   GLOWMCU_CORES_WAIT(words, core, meeting)    return once the other core has come, too
 *   GLOWMCU_CORES_WAITING()                     called while a core waits: yield, watch the time
 *   GLOWMCU_CORES_BARRIER()                     memory before it is there for the other core
 */
#ifndef GLOWMCU_CORES_H
#define GLOWMCU_CORES_H

#include "glowmcu_base.h"

#ifndef GLOWMCU_CORES
#define GLOWMCU_CORES 1
#endif

#ifndef GLOWMCU_CORES_BARRIER
#if defined(__GNUC__) && (defined(__arm__) || defined(__aarch64__))
#if defined(__aarch64__)
#define GLOWMCU_CORES_BARRIER() __asm__ volatile("dmb ish" ::: "memory")
#else
#define GLOWMCU_CORES_BARRIER() __asm__ volatile("dmb" ::: "memory")
#endif
#elif defined(__GNUC__) && defined(__riscv)
#define GLOWMCU_CORES_BARRIER() __asm__ volatile("fence rw, rw" ::: "memory")
#elif defined(__GNUC__)
#define GLOWMCU_CORES_BARRIER() __sync_synchronize()
#elif GLOWMCU_CORES > 1
#error "define GLOWMCU_CORES_BARRIER() for this compiler"
#endif
#endif

/* Where among the words a core's own is: in a line of its own of caches that hide it. */
#ifdef GLOWMCU_CORES_LINE_BYTES
#define GLOWMCU_CORES_WORD(core) ((core) * (GLOWMCU_CORES_LINE_BYTES / 4u))
#else
#define GLOWMCU_CORES_WORD(core) (core)
#endif

#ifndef GLOWMCU_CORES_WAITING
#define GLOWMCU_CORES_WAITING() ((void)0)
#endif

#if GLOWMCU_CORES > 1

#ifndef GLOWMCU_CORES_SIGNAL
#define GLOWMCU_CORES_SIGNAL(words, core, meeting) glowmcu_cores_signal(words, core, meeting)
GLOWMCU_CODE
static inline void glowmcu_cores_signal(volatile uint32_t *words, uint32_t core, uint32_t meeting)
{
    GLOWMCU_CORES_BARRIER();
    words[GLOWMCU_CORES_WORD(core)] = meeting;
}
#endif

#ifndef GLOWMCU_CORES_WAIT
#define GLOWMCU_CORES_WAIT(words, core, meeting) glowmcu_cores_wait(words, core, meeting)
/* The other core may have come to the next meeting already, but not to a later one. */
GLOWMCU_CODE
static inline void glowmcu_cores_wait(volatile uint32_t *words, uint32_t core, uint32_t meeting)
{
    while ((int32_t)(words[GLOWMCU_CORES_WORD(1u - core)] - meeting) < 0) {
        GLOWMCU_CORES_WAITING();
    }
    GLOWMCU_CORES_BARRIER();
}
#endif

/* Core `core` comes to its next meeting, and goes on when the other one has come. */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static void glowmcu_cores_meet(volatile uint32_t *words, uint32_t core)
{
    const uint32_t meeting = words[GLOWMCU_CORES_WORD(core)] + 1u;

    GLOWMCU_CORES_SIGNAL(words, core, meeting);
    GLOWMCU_CORES_WAIT(words, core, meeting);
}

#define GLOWMCU_CORES_MEET(words, core) glowmcu_cores_meet(words, core)
#define GLOWMCU_CORES_BOTH(first, second, arena) first(arena)

#else

#define GLOWMCU_CORES_MEET(words, core) ((void)(words))
/* In either order the bytes are the same: for tests of that. */
#ifdef GLOWMCU_CORES_SECOND_FIRST
#define GLOWMCU_CORES_BOTH(first, second, arena) \
    do { \
        second(arena); \
        first(arena); \
    } while (0)
#else
#define GLOWMCU_CORES_BOTH(first, second, arena) \
    do { \
        first(arena); \
        second(arena); \
    } while (0)
#endif

#endif

#endif /* GLOWMCU_CORES_H */

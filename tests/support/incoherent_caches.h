/*
 * Two cores of which each has a cache that the other does not see into, on a computer: each core has
 * a copy of the arena of its own, which is its cache, and `cache_memory` is what both caches are of.
 *
 *   -DGLOWMCU_CORES=2 -include incoherent_caches.h
 *
 * A line that a core has changed goes to memory as a whole, with what it held of others' bytes when
 * it came: at a clean, or at any time, which is drawn. A line that a core has not changed may come
 * anew at any time, and comes anew where it is invalidated. With `order` 0 or 1 that core takes its
 * turns of each phase before the other one does; with another number both go on as threads do.
 */
#ifndef INCOHERENT_CACHES_H
#define INCOHERENT_CACHES_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 32u
/* An arena that begins within a line, as it may not. */
#ifndef CACHE_SHIFT
#define CACHE_SHIFT 0u
#endif
/* What a port does wrong, but for the words: 0 never invalidates, 1 never cleans. */
#ifndef CACHE_FORGETS
#define CACHE_FORGETS 2
#endif
#define WEAK __attribute__((weak))

WEAK uint8_t *cache_memory, *cache_held[2], *cache_came[2];
WEAK uint32_t cache_bytes, cache_random[2], cache_lost;
WEAK volatile uint32_t cache_arrived[2], cache_ended[2];
WEAK int32_t cache_order;
WEAK pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
extern WEAK __thread uint32_t cache_core, cache_left, cache_waits;
WEAK __thread uint32_t cache_core, cache_left, cache_waits;
extern WEAK __thread jmp_buf cache_return;
WEAK __thread jmp_buf cache_return;

/* A core that waits for a word that is lost gives up. */
#define CACHE_MOST_WAITS 3000000u
static inline void cache_wait(void)
{
    if (++cache_waits > CACHE_MOST_WAITS) {
        longjmp(cache_return, 1);
    }
    (void)sched_yield();
}

static inline uint32_t cache_drawn(uint32_t core)
{
    cache_random[core] = cache_random[core] * 1664525u + 1013904223u;
    return cache_random[core] >> 16;
}

/* Where a line begins and how much of it is in the arena: `at` is its number. */
static inline uint32_t cache_start(uint32_t at)
{
    return at == 0u ? 0u : at * CACHE_LINE - CACHE_SHIFT;
}

static inline size_t cache_size(uint32_t at)
{
    const uint32_t end = cache_start(at + 1u);

    return (end < cache_bytes ? end : cache_bytes) - cache_start(at);
}

static inline int cache_is_dirty(uint32_t core, uint32_t at)
{
    const uint32_t start = cache_start(at);

    return memcmp(cache_held[core] + start, cache_came[core] + start, cache_size(at)) != 0;
}

/* A line of a core that it has changed, to memory. */
static inline void cache_write_back(uint32_t core, uint32_t at)
{
    const uint32_t start = cache_start(at);

    if (cache_is_dirty(core, at)) {
        memcpy(cache_memory + start, cache_held[core] + start, cache_size(at));
        memcpy(cache_came[core] + start, cache_held[core] + start, cache_size(at));
    }
}

static inline void cache_fill(uint32_t core, uint32_t at)
{
    const uint32_t start = cache_start(at);

    memcpy(cache_held[core] + start, cache_memory + start, cache_size(at));
    memcpy(cache_came[core] + start, cache_memory + start, cache_size(at));
}

/* What a cache does of its own accord: some lines go, others come. */
static inline void cache_turn(uint32_t core)
{
    for (uint32_t at = 0; cache_start(at) < cache_bytes; at++) {
        const uint32_t drawn = cache_drawn(core) % 8u;

        if (drawn == 0u) {
            cache_write_back(core, at);
        } else if (drawn == 1u && !cache_is_dirty(core, at)) {
            cache_fill(core, at);
        }
    }
}

static inline void cache_maintain(const volatile void *bytes, uint32_t count, int cleans)
{
    const uint32_t core = cache_core;
    const uint32_t start = (uint32_t)((const volatile uint8_t *)bytes - cache_held[core]);

    if (count > cache_bytes || start > cache_bytes - count) {
        abort();
    }
    if (count > 2u * CACHE_LINE && CACHE_FORGETS == cleans) {
        return;
    }
    (void)pthread_mutex_lock(&cache_lock);
    if (CACHE_FORGETS == 2 && CACHE_SHIFT == 0u) {
        cache_turn(core);
    }
    for (uint32_t at = (start + CACHE_SHIFT) / CACHE_LINE; cache_start(at) < start + count; at++) {
        if (cleans) {
            cache_write_back(core, at);
        } else {
            cache_lost += (uint32_t)cache_is_dirty(core, at);
            cache_fill(core, at);
        }
    }
    (void)pthread_mutex_unlock(&cache_lock);
}

/* Twice a meeting: as a core comes, and as it goes on. Who is not first then waits for the other. */
static inline void cache_barrier(void)
{
    const uint32_t core = cache_core, other = 1u - core;

    __sync_synchronize();
    if (cache_left == 0u) {
        cache_left = 1u;
        cache_arrived[core]++;
        return;
    }
    cache_left = 0u;
    if (cache_order == (int32_t)other) {
        while (cache_arrived[other] <= cache_arrived[core] && cache_ended[other] == 0u) {
            cache_wait();
        }
    }
    cache_waits = 0u;
    __sync_synchronize();
}

#define GLOWMCU_CORES_CLEAN(bytes, count) cache_maintain((bytes), (count), 1)
#define GLOWMCU_CORES_INVALIDATE(bytes, count) cache_maintain((bytes), (count), 0)
#define GLOWMCU_CORES_BARRIER() cache_barrier()
#define GLOWMCU_CORES_WAITING() cache_wait()

/* Caches over an arena of which core 0 has written all, and core 1 holds something else. */
WEAK void cache_begin(uint8_t *arena, uint8_t *others, uint32_t bytes, int32_t order, uint32_t seed)
{
    cache_bytes = bytes;
    cache_order = order;
    cache_lost = 0;
    cache_core = 0;
    for (uint32_t core = 0; core < 2u; core++) {
        free(cache_came[core]);
        cache_came[core] = malloc(bytes);
        cache_held[core] = core == 0u ? arena : others;
        cache_random[core] = seed * 2u + core;
        cache_arrived[core] = 0;
        cache_ended[core] = 0;
    }
    free(cache_memory);
    cache_memory = malloc(bytes);
    for (uint32_t at = 0; at < bytes; at++) {
        cache_memory[at] = (uint8_t)(arena[at] + 1u + cache_drawn(0) % 255u);
        cache_came[0][at] = cache_memory[at];
        others[at] = (uint8_t)cache_drawn(1);
        cache_came[1][at] = others[at];
    }
}

/* A function of a bundle on a core, with its own view of the arena. */
WEAK int32_t cache_call(int32_t (*function)(void *arena), uint32_t core)
{
    volatile int32_t status = -100;

    cache_core = core;
    cache_left = 0u;
    cache_waits = 0u;
    if (setjmp(cache_return) == 0) {
        status = function(cache_held[core]);
    }
    cache_ended[core] = 1u;
    return status;
}

#endif

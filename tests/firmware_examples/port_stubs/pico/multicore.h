/* What ports/pico_fifo.h needs of the Pico SDK, for two threads of a computer. */
#ifndef STUB_PICO_MULTICORE_H
#define STUB_PICO_MULTICORE_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Eight words from either thread to the other; a thread's number is its first use. */
static struct {
    uint32_t words[8];
    int count;
} stub_fifos[2];
static pthread_mutex_t stub_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t stub_first;
static int stub_known;

static inline int stub_core(void)
{
    if (!stub_known) {
        stub_first = pthread_self();
        stub_known = 1;
    }
    return pthread_equal(stub_first, pthread_self()) ? 0 : 1;
}

static inline bool multicore_fifo_push_timeout_us(uint32_t data, uint64_t timeout_us)
{
    bool has_room;
    (void)timeout_us;
    (void)pthread_mutex_lock(&stub_lock);
    const int to = 1 - stub_core();
    has_room = stub_fifos[to].count < 8;
    if (has_room) {
        stub_fifos[to].words[stub_fifos[to].count++] = data;
    }
    (void)pthread_mutex_unlock(&stub_lock);
    return has_room;
}

static inline bool multicore_fifo_pop_timeout_us(uint64_t timeout_us, uint32_t *out)
{
    bool found;
    (void)timeout_us;
    (void)pthread_mutex_lock(&stub_lock);
    const int at = stub_core();
    found = stub_fifos[at].count > 0;
    if (found) {
        *out = stub_fifos[at].words[0];
        for (int i = 1; i < stub_fifos[at].count; ++i) {
            stub_fifos[at].words[i - 1] = stub_fifos[at].words[i];
        }
        --stub_fifos[at].count;
    }
    (void)pthread_mutex_unlock(&stub_lock);
    if (!found) {
        (void)sched_yield();
    }
    return found;
}

#endif

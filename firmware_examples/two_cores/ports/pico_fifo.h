/*
 * Two cores of an RP2040 or RP2350 that meet in a run, by the FIFOs between them: the Pico SDK puts
 * a core that waits for a word to sleep.
 *
 *   -DGLOWMCU_CORES=2 -include pico_fifo.h        and link pico_multicore
 *
 * A core counts in the arena that it has come, then sends that number. The number in the arena
 * counts: a word that the application has sent is taken out and forgotten, so that FIFOs are the
 * run's while it lasts; a full FIFO wakes the other core as well as a new word would.
 * Not together with multicore_lockout, which takes the FIFOs for itself: see pico_events.h.
 */
#ifndef PICO_FIFO_H
#define PICO_FIFO_H

#include <stdint.h>

#include "pico/multicore.h"

#define GLOWMCU_CORES_SIGNAL(words, core, meeting) pico_fifo_signal((words), (core), (meeting))
#define GLOWMCU_CORES_WAIT(words, core, meeting) pico_fifo_wait((words), (core), (meeting))

static inline void pico_fifo_signal(volatile uint32_t *words, uint32_t core, uint32_t meeting)
{
    __sync_synchronize();
    words[core] = meeting;
    __sync_synchronize();
    (void)multicore_fifo_push_timeout_us(meeting, 0);
}

static inline void pico_fifo_wait(volatile uint32_t *words, uint32_t core, uint32_t meeting)
{
    uint32_t word;

    while ((int32_t)(words[1u - core] - meeting) < 0) {
        (void)multicore_fifo_pop_timeout_us(1000, &word);
    }
    __sync_synchronize();
}

#endif

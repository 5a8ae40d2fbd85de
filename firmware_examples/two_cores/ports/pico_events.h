/*
 * Two cores of an RP2040 or RP2350 that meet in a run: a core that waits sleeps until an event.
 *
 *   -DGLOWMCU_CORES=2 -include pico_events.h
 *
 * Interrupts wake it, too: it looks again and sleeps on. Nothing of the Pico SDK is used, so that
 * the FIFOs between the cores stay the application's.
 */
#ifndef PICO_EVENTS_H
#define PICO_EVENTS_H

#include <stdint.h>

#define GLOWMCU_CORES_WAITING() __asm__ volatile("wfe" ::: "memory")
#define GLOWMCU_CORES_SIGNAL(words, core, meeting) pico_events_signal((words), (core), (meeting))

static inline void pico_events_signal(
    volatile uint32_t *words, uint32_t core, uint32_t meeting)
{
    __asm__ volatile("dmb" ::: "memory");
    words[core] = meeting;
    __asm__ volatile("dsb\n\tsev" ::: "memory");
}

#endif

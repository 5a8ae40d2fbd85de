/*
 * glowmcu_profile.h: cycles of every step of an instrumented bundle, counted by the core itself.
 *
 *     static glowmcu_cycles cycles[KWS_STEPS];
 *     static glowmcu_profile profile;
 *
 *     glowmcu_profile_start(&profile, kws_steps, KWS_STEPS, cycles);
 *     kws_observe(&profile.observer);
 *     kws_run(arena);              (any number of times: cycles add up)
 *     kws_observe(NULL);
 *
 * The counter is the DWT's on Armv7-M and Armv8-M mainline. Cores without one, and all with
 * GLOWMCU_CYCLES_BY_SYSTICK, take the SysTick timer, which nobody else may use then and which wraps
 * at 2^24 cycles: a step, or a row of it, must be shorter. For any other counter that counts up
 * define GLOWMCU_CYCLES_NOW() and, where it has fewer than 32 bits, GLOWMCU_CYCLES_MASK. Where
 * there is none at all, as on a computer, only calls are counted.
 */
#ifndef GLOWMCU_PROFILE_H
#define GLOWMCU_PROFILE_H

#include "glowmcu_observer.h"

#define GLOWMCU_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#if defined(GLOWMCU_CYCLES_NOW)
#define GLOWMCU_CYCLES_START() ((void)0)
#elif defined(GLOWMCU_CYCLES_BY_SYSTICK) || defined(__ARM_ARCH_6M__) || \
    defined(__ARM_ARCH_8M_BASE__)
#define GLOWMCU_SYSTICK_CONTROL GLOWMCU_REGISTER(0xE000E010u)
#define GLOWMCU_SYSTICK_RELOAD GLOWMCU_REGISTER(0xE000E014u)
#define GLOWMCU_SYSTICK_VALUE GLOWMCU_REGISTER(0xE000E018u)
#define GLOWMCU_CYCLES_MASK 0xFFFFFFu
#define GLOWMCU_CYCLES_NOW() (GLOWMCU_CYCLES_MASK - GLOWMCU_SYSTICK_VALUE)
/* The core's clock, no interrupt. */
#define GLOWMCU_CYCLES_START()                        \
    do {                                              \
        GLOWMCU_SYSTICK_RELOAD = GLOWMCU_CYCLES_MASK; \
        GLOWMCU_SYSTICK_VALUE = 0u;                   \
        GLOWMCU_SYSTICK_CONTROL = 5u;                 \
    } while (0)
#elif defined(__ARM_ARCH_PROFILE) && (__ARM_ARCH_PROFILE == 'M')
#define GLOWMCU_CYCLES_NOW() GLOWMCU_REGISTER(0xE0001004u) /* DWT_CYCCNT */
/* DEMCR.TRCENA, the lock that Cortex-M7 has, DWT_CTRL.CYCCNTENA. */
#define GLOWMCU_CYCLES_START()                        \
    do {                                              \
        GLOWMCU_REGISTER(0xE000EDFCu) |= 1u << 24;    \
        GLOWMCU_REGISTER(0xE0001FB0u) = 0xC5ACCE55u;  \
        GLOWMCU_REGISTER(0xE0001000u) |= 1u;          \
    } while (0)
#else
#define GLOWMCU_CYCLES_NOW() 0u
#define GLOWMCU_CYCLES_START() ((void)0)
#endif

#ifndef GLOWMCU_CYCLES_MASK
#define GLOWMCU_CYCLES_MASK 0xFFFFFFFFu
#endif

/* What a step took so far, without what counting takes; `calls`: rows of a cascade count singly. */
typedef struct {
    uint32_t cycles;
    uint32_t calls;
} glowmcu_cycles;

typedef struct {
    glowmcu_observer observer;
    const glowmcu_step *steps;
    glowmcu_cycles *cycles;
    uint32_t started;
    uint32_t overhead;
} glowmcu_profile;

GLOWMCU_CODE
static void glowmcu_profile_before(void *context, const glowmcu_step *step)
{
    glowmcu_profile *profile = (glowmcu_profile *)context;

    (void)step;
    profile->started = GLOWMCU_CYCLES_NOW();
}

GLOWMCU_CODE
static void glowmcu_profile_after(void *context, const glowmcu_step *step)
{
    const uint32_t stopped = GLOWMCU_CYCLES_NOW();
    glowmcu_profile *profile = (glowmcu_profile *)context;
    glowmcu_cycles *cycles = &profile->cycles[step - profile->steps];
    const uint32_t taken = (stopped - profile->started) & GLOWMCU_CYCLES_MASK;

    cycles->cycles += (taken > profile->overhead) ? taken - profile->overhead : 0u;
    ++cycles->calls;
}

/* Counts from 0 for `count` steps; give `profile->observer` to the bundle then. */
GLOWMCU_CODE
static inline void glowmcu_profile_start(glowmcu_profile *profile, const glowmcu_step *steps,
    uint32_t count, glowmcu_cycles *cycles)
{
    profile->observer.before = glowmcu_profile_before;
    profile->observer.after = glowmcu_profile_after;
    profile->observer.tensor = NULL;
    profile->observer.context = profile;
    profile->steps = steps;
    profile->cycles = cycles;
    profile->overhead = 0u;
    GLOWMCU_CYCLES_START();
    cycles[0].cycles = 0u;
    profile->observer.before(profile, steps);
    profile->observer.after(profile, steps);
    profile->overhead = cycles[0].cycles;
    for (uint32_t i = 0; i < count; ++i) {
        cycles[i].cycles = 0u;
        cycles[i].calls = 0u;
    }
}

#endif /* GLOWMCU_PROFILE_H */

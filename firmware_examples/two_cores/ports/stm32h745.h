/*
 * The Cortex-M7 and the Cortex-M4 of an STM32H745, H747, H755 or H757 that meet in a run.
 *
 *   -DGLOWMCU_CORES=2 -include stm32h745.h        beside -DCORE_CM7 or -DCORE_CM4, as ST's projects
 *
 * The Cortex-M7 calls NAME_cores_begin and NAME_run, the Cortex-M4 NAME_help, each from its own
 * image. The Cortex-M7 has caches that the Cortex-M4 does not see into: it cleans what it has written
 * and invalidates what the other wrote, by address, before and after they meet. Where the MPU says
 * that the arena is not cached, -DSTM32H745_ARENA_IS_UNCACHED saves that.
 * Not for memory that the MPU says is written through: ST's errata sheets tell of lost data there.
 */
#ifndef STM32H745_H
#define STM32H745_H

#include <stdint.h>

#if defined(CORE_CM4) || defined(STM32H745_ARENA_IS_UNCACHED)

#define GLOWMCU_CORES_UNCACHED

#elif defined(CORE_CM7)

#define STM32H745_LINE_BYTES 32u

/* Armv7-M: invalidate, and clean, the line of an address in the data cache. */
#define STM32H745_DCIMVAC (*(volatile uint32_t *)0xE000EF5Cu)
#define STM32H745_DCCMVAC (*(volatile uint32_t *)0xE000EF68u)

#define GLOWMCU_CORES_CLEAN(bytes, count) stm32h745_clean((bytes), (count))
#define GLOWMCU_CORES_INVALIDATE(bytes, count) stm32h745_invalidate((bytes), (count))

static inline void stm32h745_clean(const volatile void *bytes, uint32_t count)
{
    const uint32_t end = (uint32_t)(uintptr_t)bytes + count;
    uint32_t line;

    __asm__ volatile("dsb" ::: "memory");
    for (line = (uint32_t)(uintptr_t)bytes; line < end; line += STM32H745_LINE_BYTES) {
        STM32H745_DCCMVAC = line;
    }
    __asm__ volatile("dsb" ::: "memory");
}

static inline void stm32h745_invalidate(const volatile void *bytes, uint32_t count)
{
    const uint32_t end = (uint32_t)(uintptr_t)bytes + count;
    uint32_t line;

    __asm__ volatile("dsb" ::: "memory");
    for (line = (uint32_t)(uintptr_t)bytes; line < end; line += STM32H745_LINE_BYTES) {
        STM32H745_DCIMVAC = line;
    }
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

#else
#error "say which core this image is for: -DCORE_CM7 or -DCORE_CM4"
#endif

#endif

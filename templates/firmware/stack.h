/*
 * How deep a call digs into the stack: everything below the stack pointer is painted before the
 * call, the lowest word that changed is the answer. Inline, so that painting needs no stack itself.
 */
#ifndef STACK_H
#define STACK_H

#include <stdint.h>

#define STACK_PAINT 0xC5C5C5C5u

extern uint32_t stack_limit[]; /* lowest word of the stack, from the linker script */

static inline __attribute__((always_inline)) uint32_t *stack_pointer(void)
{
    uint32_t *pointer;
#if defined(__riscv)
    __asm volatile("mv %0, sp" : "=r"(pointer));
#else
    __asm volatile("mov %0, sp" : "=r"(pointer));
#endif
    return pointer;
}

static inline __attribute__((always_inline)) void stack_paint(void)
{
    volatile uint32_t *word = stack_limit;
    const uint32_t *end = stack_pointer();
    while (word < end) {
        *word = STACK_PAINT;
        word++;
    }
}

/* Bytes below `end`, the stack pointer when it was painted, that have changed since. */
static inline __attribute__((always_inline)) uint32_t stack_used(const uint32_t *end)
{
    const volatile uint32_t *word = stack_limit;
    while (word < end && *word == STACK_PAINT) {
        word++;
    }
    return (uint32_t)(end - word) * 4u;
}

/* True when the last call used the very last word of the stack, and probably more. */
static inline __attribute__((always_inline)) int stack_overflowed(void)
{
    const volatile uint32_t *word = stack_limit;
    return *word != STACK_PAINT;
}

#endif

/*
 * Executed instructions by SysTick, for an emulator in which each instruction takes the same time
 * (qemu-system-arm -icount). A tick is many instructions, so after the call a loop of four
 * instructions counts how often it turns until the next tick: that resolves the fraction.
 */
#include "measure.h"

#include "calibrate.h"
#include "port.h"
#include "stack.h"
#include "text.h"

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define SYST_RUN 7u /* core clock, interrupt at zero, enabled */
#define SYST_MASK 0xFFFFFFu

static volatile uint32_t wraps; /* of the 24-bit counter since the start of the measurement */

void systick_handler(void);

void systick_handler(void)
{
    wraps++;
}

/* Turns of the loop until the counter changes; four instructions each. *now is its new value. */
static inline __attribute__((always_inline)) uint32_t polls_until_tick(uint32_t *now)
{
    uint32_t polls = 0;
    uint32_t before;
    uint32_t after;
    __asm volatile(".syntax unified\n"
                   "   ldr %[before], [%[counter]]\n"
                   "1: adds %[polls], #1\n"
                   "   ldr %[after], [%[counter]]\n"
                   "   cmp %[after], %[before]\n"
                   "   beq 1b\n"
                   : [polls] "+l"(polls), [before] "=&l"(before), [after] "=&l"(after)
                   : [counter] "l"(&SYST_CVR)
                   : "cc", "memory");
    *now = after;
    return polls;
}

void measure_open(void)
{
    SYST_RVR = SYST_MASK;
    SYST_CVR = 0;
    SYST_CSR = SYST_RUN;
    (void)measure("empty", 1u, calibrate_empty, (void *)0);
    (void)measure("loop", CALIBRATE_INSTRUCTIONS, calibrate_loop, (void *)CALIBRATE_ROUNDS);
}

__attribute__((noinline)) int32_t measure(const char *label, uint32_t number,
                                          int32_t (*function)(void *), void *argument)
{
    int32_t status;
    uint32_t counter;
    uint32_t polls;
    uint32_t used;
    stack_paint();
    wraps = 0;
    SYST_CVR = 0; /* the next tick sets it to the largest value */
    status = function(argument);
    polls = polls_until_tick(&counter);
    used = stack_used(stack_pointer());
    if (stack_overflowed()) {
        text_fail("the stack of the test firmware is too small for this bundle");
    }
    port_print("glowmcu ");
    port_print(label);
    text_number(" ", number);
    text_number(" wraps=", wraps);
    text_number(" ticks=", (0u - counter) & SYST_MASK);
    text_number(" polls=", polls);
    text_number(" stack=", used);
    port_print("\n");
    return status;
}

/*
 * Executed instructions by the core's own counter, which an emulator keeps exactly when each
 * instruction takes the same time (qemu-system-riscv32 -icount). Printed like SysTick's ticks.
 */
#include "measure.h"

#include "calibrate.h"
#include "port.h"
#include "stack.h"
#include "text.h"

#define TICK_BITS 24u

/* The low word: no measured call is 2^32 instructions long. */
static inline __attribute__((always_inline)) uint32_t instructions_retired(void)
{
    uint32_t count;
    __asm volatile(".option push\n"
                   ".option arch, +zicsr\n"
                   "csrr %0, minstret\n"
                   ".option pop\n"
                   : "=r"(count)
                   :
                   : "memory");
    return count;
}

void measure_open(void)
{
    (void)measure("empty", 1u, calibrate_empty, (void *)0);
    (void)measure("loop", CALIBRATE_INSTRUCTIONS, calibrate_loop, (void *)CALIBRATE_ROUNDS);
}

__attribute__((noinline)) int32_t measure(const char *label, uint32_t number,
                                          int32_t (*function)(void *), void *argument)
{
    int32_t status;
    uint32_t before;
    uint32_t count;
    uint32_t used;
    stack_paint();
    before = instructions_retired();
    status = function(argument);
    count = instructions_retired() - before;
    used = stack_used(stack_pointer());
    if (stack_overflowed()) {
        text_fail("the stack of the test firmware is too small for this bundle");
    }
    port_print("glowmcu ");
    port_print(label);
    text_number(" ", number);
    text_number(" wraps=", count >> TICK_BITS);
    text_number(" ticks=", count & ((1u << TICK_BITS) - 1u));
    text_number(" polls=", 0u);
    text_number(" stack=", used);
    port_print("\n");
    return status;
}

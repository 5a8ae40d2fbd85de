/*
 * The emulator counts: it stops at the line "run" and at the line "done" and notes how many
 * instructions it has executed. What printing costs is known from the call that does nothing.
 */
#include "measure.h"

#include "calibrate.h"
#include "port.h"
#include "stack.h"
#include "text.h"

#define GAP_BYTES 512u /* of stack for printing, above what the measured call uses */

static const uint32_t *deep; /* the stack pointer of the measured call */

void systick_handler(void);

void systick_handler(void)
{
}

void measure_open(void)
{
    (void)measure("empty", 1u, calibrate_empty, (void *)0);
    (void)measure("loop", CALIBRATE_INSTRUCTIONS, calibrate_loop, (void *)CALIBRATE_ROUNDS);
}

/* Calls from GAP_BYTES further down, so that printing afterwards leaves the paint alone. */
static __attribute__((noinline)) int32_t call_deep(int32_t (*function)(void *), void *argument)
{
    int32_t status;
    volatile unsigned char gap[GAP_BYTES];
    gap[0] = 0;
    deep = stack_pointer();
    stack_paint();
    status = function(argument);
    (void)gap[0];
    return status;
}

__attribute__((noinline)) int32_t measure(const char *label, uint32_t number,
                                          int32_t (*function)(void *), void *argument)
{
    int32_t status;
    uint32_t used;
    port_print("glowmcu run ");
    port_print(label);
    text_number(" ", number);
    port_print("\n");
    status = call_deep(function, argument);
    port_print("glowmcu done\n");
    used = stack_used(deep);
    if (stack_overflowed()) {
        text_fail("the stack of the test firmware is too small for this bundle");
    }
    port_print("glowmcu ");
    port_print(label);
    text_number(" ", number);
    text_number(" stack=", used);
    port_print("\n");
    return status;
}

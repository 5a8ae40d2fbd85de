/*
 * Cycles by the core's own counter: DWT's CYCCNT where there is one, else SysTick, whose 24 bits
 * its interrupt extends; mcycle on RISC-V; with SERIAL_OWN_COUNTER the application's measure_now,
 * for chips that count elsewhere. An application with a SysTick handler of its own calls
 * systick_handler from it, where the core is a Cortex-M0, M0+ or M23.
 */
#include "measure.h"

#include "measure_cycles.h"
#include "port.h"
#ifndef SERIAL_IN_APPLICATION
#include "stack.h"
#endif
#include "text.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define DEMCR REGISTER(0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)
#define DWT_CTRL REGISTER(0xE0001000u)
#define DWT_CYCCNT REGISTER(0xE0001004u)
#define DWT_LAR REGISTER(0xE0001FB0u)
#define DWT_UNLOCK 0xC5ACCE55u /* a Cortex-M7 locks it */
#define SYST_CSR REGISTER(0xE000E010u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0xE000E018u)
#define SYST_RUN 7u /* core clock, interrupt at zero, enabled */
#define SYST_BITS 24u
#define SYST_MASK ((1u << SYST_BITS) - 1u)

static volatile uint32_t wraps; /* of SysTick */
#if !defined(SERIAL_OWN_COUNTER) && !defined(__riscv)
static int has_dwt;
#endif

void systick_handler(void);

void systick_handler(void)
{
    wraps++;
}

#if defined(SERIAL_OWN_COUNTER)
static void start_counter(void)
{
}
#elif defined(__riscv)
uint32_t measure_now(void)
{
    uint32_t count;
    __asm volatile(".option push\n"
                   ".option arch, +zicsr\n"
                   "csrr %0, mcycle\n"
                   ".option pop\n"
                   : "=r"(count)
                   :
                   : "memory");
    return count;
}

static void start_counter(void)
{
}
#else
uint32_t measure_now(void)
{
    uint32_t before;
    uint32_t value;
    if (has_dwt) {
        return DWT_CYCCNT;
    }
    do {
        before = wraps;
        value = SYST_CVR;
    } while (before != wraps);
    return (before << SYST_BITS) + (SYST_MASK - value);
}

static void start_counter(void)
{
#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__)
    uint32_t first;
    DEMCR |= DEMCR_TRCENA;
    DWT_LAR = DWT_UNLOCK;
    DWT_CTRL |= 1u;
    first = DWT_CYCCNT;
    has_dwt = DWT_CYCCNT != first;
#endif
    if (!has_dwt) {
        SYST_RVR = SYST_MASK;
        SYST_CVR = 0;
        SYST_CSR = SYST_RUN;
    }
}
#endif

/* The volatile assembly keeps the call. */
static __attribute__((noinline)) int32_t do_nothing(void *unused)
{
    int32_t any;
    (void)unused;
    __asm volatile("" : "=r"(any));
    return any;
}

/* What a call costs by itself is subtracted from the others. */
void measure_open(void)
{
    start_counter();
    (void)measure("empty", 0u, do_nothing, (void *)0);
}

__attribute__((noinline)) int32_t measure(const char *label, uint32_t number,
                                          int32_t (*function)(void *), void *argument)
{
    int32_t status;
    uint32_t before;
    uint32_t cycles;
#ifndef SERIAL_IN_APPLICATION
    uint32_t used;
    stack_paint();
#endif
    before = measure_now();
    status = function(argument);
    cycles = measure_now() - before;
#ifndef SERIAL_IN_APPLICATION
    used = stack_used(stack_pointer());
    if (stack_overflowed()) {
        text_fail("the stack of the test firmware is too small for this bundle");
    }
#endif
    port_print("glowmcu ");
    port_print(label);
    text_number(" ", number);
    text_number(" cycles=", cycles);
#ifndef SERIAL_IN_APPLICATION
    text_number(" stack=", used);
#endif
    port_print("\n");
    return status;
}

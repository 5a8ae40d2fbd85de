/*
 * startup.c: vector table, and what C expects before main().
 *
 * Only SysTick's interrupt is ever enabled, by examples with a handler for it; a fault is told on the serial
 * line. Handlers of an operating system or an example replace the weak ones here.
 */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "print.h"

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);
void reset(void);
void fault(void);
void SVC_Handler(void) __attribute__((weak, alias("fault")));
void PendSV_Handler(void) __attribute__((weak, alias("fault")));
void SysTick_Handler(void) __attribute__((weak, alias("fault")));

void reset(void)
{
#if defined(__ARM_FP)
    BOARD_REGISTER(0xE000ED88u) |= 0xFu << 20; /* CPACR: floating point and Helium */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    memcpy(data_start, data_load, (size_t)((char *)data_end - (char *)data_start));
    memset(bss_start, 0, (size_t)((char *)bss_end - (char *)bss_start));
    board_open();
    (void)main();
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void fault(void)
{
    uint32_t exception;

    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    print_text("fault: exception ");
    print_number((int32_t)(exception & 0x1FFu));
    print_text("\n");
    for (;;) {
    }
}

typedef void (*handler)(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler handlers[15];
} vectors = {
    stack_top,
    { reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, SVC_Handler, fault, 0, PendSV_Handler,
      SysTick_Handler }
};

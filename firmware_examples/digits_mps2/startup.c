/* startup.c: vector table and what C expects before main(). */
#include <stdint.h>
#include <string.h>

#include "console.h"

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;
int main(void);
void reset(void);

#define CPACR (*(volatile uint32_t *)0xE000ED88u)

void reset(void)
{
    CPACR |= 0xFu << 20; /* the compiler may use the floating-point unit */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    memcpy(&data_start, &data_load, (size_t)((uintptr_t)&data_end - (uintptr_t)&data_start));
    memset(&bss_start, 0, (size_t)((uintptr_t)&bss_end - (uintptr_t)&bss_start));
    (void)main();
    console_exit();
}

static void fault(void)
{
    console_text("fault\n");
    console_exit();
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)&stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,      (uintptr_t)fault, (uintptr_t)fault
};

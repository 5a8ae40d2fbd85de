/* console.c: semihosting calls, see Arm's "Semihosting for AArch32 and AArch64". */
#include "console.h"

#include <stdint.h>

#define SYS_WRITE0 0x04u
#define SYS_EXIT 0x18u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

static void semihosting(uint32_t operation, uintptr_t argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void console_text(const char *text)
{
    semihosting(SYS_WRITE0, (uintptr_t)text);
}

void console_number(int value)
{
    char digits[12];
    char *first = digits + sizeof digits - 1;
    unsigned rest = (value < 0) ? 0u - (unsigned)value : (unsigned)value;

    *first = '\0';
    do {
        *--first = (char)('0' + rest % 10u);
        rest /= 10u;
    } while (rest != 0u);
    if (value < 0) {
        *--first = '-';
    }
    console_text(first);
}

void console_exit(void)
{
    semihosting(SYS_EXIT, ADP_STOPPED_APPLICATION_EXIT);
    for (;;) {
    }
}

/* microphone.c: who has which half; see microphone.h. */
#include "microphone.h"

static int16_t halves[2][MICROPHONE_HALF];
/* Counted by the interrupt, read by the main loop: 32 bits are read at once. */
static volatile uint32_t requested, filled;
static uint32_t given, lost;

int16_t *microphone_half_to_fill(void)
{
    int16_t *const half = halves[requested % 2u];

    requested = requested + 1u;
    return half;
}

void microphone_half_is_full(void)
{
    filled = filled + 1u;
}

const int16_t *microphone_next(void)
{
    uint32_t full;

    /* An interrupt between the test and WFI still ends the sleep: masked ones do, and it is served then. */
    __asm__ volatile("cpsid i" ::: "memory");
    while ((full = filled) == given) {
        __asm__ volatile("wfi\n\tcpsie i\n\tisb\n\tcpsid i" ::: "memory");
    }
    __asm__ volatile("cpsie i" ::: "memory");
    lost += full - given - 1u; /* the half before the newest is being filled again */
    given = full;
    return halves[(full - 1u) % 2u];
}

int32_t microphone_lost(void)
{
    return (int32_t)lost;
}

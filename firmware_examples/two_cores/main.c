/*
 * Two Cortex-M33 of QEMU's mps2-an521 share each run of the self test: both begin here, each with a
 * stack of its own. Prints one line by semihosting and ends.
 */
#include <stdint.h>

#include "digits.h"
#include "digits_selftest.h"

/* The SSE-200's system control: where the second core finds its vectors, and who has to wait. */
#define SECOND_VECTORS (*(volatile uint32_t *)0x50021114u)
#define CORES_WAIT (*(volatile uint32_t *)0x50021118u)

#define STACK_WORDS 1024
static uint32_t stacks[2][STACK_WORDS] __attribute__((aligned(8)));
static DIGITS_ARENA(arena);
static volatile uint32_t helped;

void first_core(void);
static void second_core(void);

typedef struct {
    uint32_t *stack;
    void (*reset)(void);
} vectors;

__attribute__((section(".vectors"), used)) static const vectors first_vectors = {
    stacks[0] + STACK_WORDS, first_core};
/* A vector table begins at a multiple of its size. */
__attribute__((aligned(512), used)) static const vectors second_vectors = {
    stacks[1] + STACK_WORDS, second_core};

static void semihosting(uint32_t call, const void *argument)
{
    register uint32_t r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void second_core(void)
{
    for (;;) {
        (void)digits_help(arena);
        ++helped;
    }
}

void first_core(void)
{
    int32_t failed;

    (void)digits_cores_begin(arena);
    SECOND_VECTORS = (uint32_t)(uintptr_t)&second_vectors;
    CORES_WAIT &= ~2u;
    failed = digits_selftest(arena);
    /* The self test may be over before a second core that nobody waits for has begun. */
    for (uint32_t turns = 0; turns < 1000000000u && helped == 0u; ++turns) {
    }
    if (failed == 0 && helped >= 1u) {
        semihosting(0x04u, "two cores: every vector is right\n");
        semihosting(0x18u, (const void *)0x20026u);
    }
    semihosting(0x04u, "two cores: WRONG\n");
    semihosting(0x18u, (const void *)0x20023u);
    for (;;) {
    }
}

/*
 * Runs a bundle many times on an emulated board with Helium, one flipped bit a run, and after each
 * run its check. Wishes come from "flips.bin", what became of them goes to "results.bin", what the
 * run without a flip gave, which is the first, to "outputs.bin".
 */
#include "faults.h"

#include "case.h"

#define MPU_RNR REGISTER(0xE000ED98u)
#define MPU_RBAR REGISTER(0xE000ED9Cu)
#define MPU_RLAR REGISTER(0xE000EDA0u)
#define MPU_MAIR0 REGISTER(0xE000EDC0u)
#define MPU_NORMAL_MEMORY 0x44u
#define PRIVILEGED 0u
#define WRITABLE (1u << 1)
#define READABLE (3u << 1)
#define NO_CODE 1u
#define SYSTEM_BASE 0xE0000000u
#define REGION_BYTES 32u

#define SYS_OPEN 0x01u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_EXIT 0x18u
#define MODE_READ 1u
#define MODE_WRITE 5u
#define APPLICATION_EXIT 0x20026u

#define CHECK_TICKS 0xFFFFFFu
#define POISON 0xA5u
#define STACK_POISON 0xA5A5A5A5u
#define WILD_WRITE 0x82u /* of CFSR: an access that the MPU refused, its address in MMFAR */

extern unsigned char code_begin[], code_end[], firmware_begin[], firmware_end[];
extern unsigned char arena[];
static unsigned char right[OUTPUT_BYTES];

static uint32_t semihost(uint32_t operation, uint32_t argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register uint32_t r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uint32_t open_file(const char *name, uint32_t mode)
{
    uint32_t block[3] = {(uint32_t)name, mode, 0};
    while (name[block[2]] != '\0') {
        block[2]++;
    }
    return semihost(SYS_OPEN, (uint32_t)block);
}

/* Whether all bytes were there. */
static int transfer(uint32_t operation, uint32_t handle, const void *data, uint32_t bytes)
{
    uint32_t block[3] = {handle, (uint32_t)data, bytes};
    return semihost(operation, (uint32_t)block) == 0u;
}

/* Regions must not overlap. All but the firmware, up to the system's registers, can be read. */
static void divide_memory(void)
{
    const uint32_t borders[][2] = {
        {0u, READABLE | NO_CODE},
        {(uint32_t)code_begin, READABLE},
        {(uint32_t)code_end, READABLE | NO_CODE},
        {(uint32_t)arena, WRITABLE | NO_CODE},
        {((uint32_t)arena + ARENA_BYTES + REGION_BYTES - 1u) & -REGION_BYTES, READABLE | NO_CODE},
        {(uint32_t)stack_low, WRITABLE | NO_CODE},
        {(uint32_t)stack_top, READABLE | NO_CODE},
        {(uint32_t)firmware_begin, PRIVILEGED},
        {(uint32_t)firmware_end, READABLE | NO_CODE},
        {SYSTEM_BASE, 0u}};
    uint32_t i;
    MPU_MAIR0 = MPU_NORMAL_MEMORY;
    for (i = 0; borders[i][0] < SYSTEM_BASE; i++) {
        MPU_RNR = i;
        MPU_RBAR = borders[i][0] | borders[i][1];
        MPU_RLAR = (borders[i + 1u][0] - REGION_BYTES) | 1u;
    }
}

/* No assignment: the compiler would call memset, which may lie in the bundle's code. */
static void clear_result(void)
{
    volatile uint32_t *word = (volatile uint32_t *)&result;
    while (word < (volatile uint32_t *)(&result + 1)) {
        *word++ = 0;
    }
}

static void fill_stack(void)
{
    volatile uint32_t *word;
    for (word = stack_low; word < stack_top; word++) {
        *word = STACK_POISON;
    }
}

static uint32_t stack_used(void)
{
    const uint32_t *word = stack_low;
    while ((word < stack_top) && (*word == STACK_POISON)) {
        word++;
    }
    return 4u * (uint32_t)(stack_top - word);
}

static void hand_over_inputs(void)
{
    const unsigned char *from = inputs;
    uint32_t i;
    uint32_t j;
    for (i = 0; i < ARENA_BYTES + REGION_BYTES; i++) {
        arena[i] = POISON;
    }
    for (i = 0; i < INPUT_COUNT; i++) {
        for (j = 0; j < places[i].bytes; j++) {
            places[i].to[j] = *from++;
        }
    }
}

/* Whether outputs are those of the first run. */
static int is_right(int is_first)
{
    unsigned char *known = right;
    uint32_t i;
    uint32_t j;
    int same = 1;
    for (i = 0; i < OUTPUT_COUNT; i++) {
        for (j = 0; j < results[i].bytes; j++) {
            if (is_first) {
                *known = arena[results[i].at + j];
            }
            same &= (arena[results[i].at + j] == *known++);
        }
    }
    return same;
}

/* Behind the arena's end, in the MPU's last region of it. */
static int is_poison_left(void)
{
    uint32_t i;
    for (i = ARENA_BYTES; (i % REGION_BYTES) != 0u; i++) {
        if (arena[i] != POISON) {
            return 0;
        }
    }
    return 1;
}

static void run_once(int is_first)
{
    clear_result();
    hand_over_inputs();
    fill_stack();
    run_guarded(drive, wish.ticks, wish.reload, wish.turns);
    result.stack = stack_used();
    result.same = (result.end == ENDED) && is_right(is_first);
    if (!is_poison_left()) {
        result.end = FAULT;
        result.cfsr = WILD_WRITE;
        result.mmfar = (uint32_t)arena + ARENA_BYTES;
    }
}

/* Whether the check says that a constant changed. */
static uint32_t check_notices(void)
{
    clear_result();
    fill_stack();
    run_guarded(drive_check, 0, CHECK_TICKS, 1);
    return (result.end == ENDED) && (result.status != 0u);
}

/* What a run cannot write is as it was before the flip. */
static void mend(void)
{
    const int is_arena =
        (wish.at >= (uint32_t)arena) && (wish.at < (uint32_t)arena + ARENA_BYTES);
    if ((wish.place == MEMORY) && !is_arena && (result.stopped_at != 0u)) {
        *(volatile unsigned char *)wish.at ^= (unsigned char)wish.mask;
        __asm volatile("dsb\n isb" ::: "memory");
    }
}

void controller(void)
{
    uint32_t flips;
    uint32_t output;
    uint32_t stack_bytes = 0;
    int is_first = 1;
    struct result run;
    set_up_core();
    (void)transfer(SYS_READ, open_file("inputs.bin", MODE_READ), inputs, INPUT_BYTES);
    flips = open_file("flips.bin", MODE_READ);
    output = open_file("results.bin", MODE_WRITE);
    (void)transfer(SYS_READ, flips, &stack_bytes, sizeof stack_bytes);
    stack_low = stack_top - stack_bytes / 4u;
    divide_memory();
    while (transfer(SYS_READ, flips, &wish, sizeof wish)) {
        run_once(is_first);
        run = result;
        run.noticed = check_notices();
        result = run;
        mend();
        (void)transfer(SYS_WRITE, output, &result, sizeof result);
        if (is_first) {
            (void)transfer(SYS_WRITE, open_file("outputs.bin", MODE_WRITE), right, OUTPUT_BYTES);
            is_first = 0;
        }
    }
    (void)semihost(SYS_EXIT, APPLICATION_EXIT);
    for (;;) {
    }
}

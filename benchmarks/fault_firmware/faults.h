/*
 * What the halves of the firmware share: traps.c runs the bundle and flips the bit, main.c says
 * which one and looks at what became of the run.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define DRIVER __attribute__((section(".driver"), noinline, used))

/* As in fault_board.py. */
enum place { NOTHING, MEMORY, CORE_REGISTER, FLAGS, STACK, VECTORS };
enum end { ENDED, FAULT, ENDLESS };

struct wish {
    uint32_t place;
    uint32_t ticks;  /* until the flip, 0 for none */
    uint32_t reload; /* as run_guarded has it */
    uint32_t turns;
    uint32_t at; /* an address, a register, or a number drawn for the stack */
    uint32_t mask;
};

struct result {
    uint32_t end, status, same, noticed, cfsr, mmfar, bfar, pc, ticks, stack;
    uint32_t stopped_at; /* where the bit was flipped */
};

extern struct wish wish;
extern struct result result;
extern uint32_t stack_top[];
extern uint32_t *stack_low; /* of what the run may write */

/* Faults have handlers, the run may use Helium, and its registers are stored at once. */
void set_up_core(void);

/* Calls `run`, unprivileged and guarded, with a flip after `ticks` unless that is 0. It is endless
 * when so many `turns` of `reload` ticks have passed since. */
void run_guarded(void (*run)(void), uint32_t ticks, uint32_t reload, uint32_t turns);

/* What a run calls at its end. */
void finish(int32_t status);

void controller(void);

#endif

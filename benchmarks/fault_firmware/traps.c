/*
 * A run and what interrupts it. It is unprivileged, and the MPU lets it write to arena and stack
 * alone: a wild write is a MemManage fault before it happens. SysTick stops it at an instruction,
 * as QEMU's clock (-icount) goes on by the same time with each; the handler flips the bit.
 */
#include "faults.h"

#define SYST_CSR REGISTER(0xE000E010u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0xE000E018u)
#define SYST_RUN 7u /* core clock, interrupt at zero, enabled */
#define ICSR REGISTER(0xE000ED04u)
#define ICSR_PENDSTCLR (1u << 25)
#define SHPR3 REGISTER(0xE000ED20u)
#define SHPR3_SYSTICK_LATER (0x40u << 24) /* than a fault of storing the timer's frame */
#define SHCSR REGISTER(0xE000ED24u)
#define SHCSR_FAULTS (7u << 16) /* memory, bus, usage: each its own exception */
#define CFSR REGISTER(0xE000ED28u)
#define HFSR REGISTER(0xE000ED2Cu)
#define MMFAR REGISTER(0xE000ED34u)
#define BFAR REGISTER(0xE000ED38u)
#define CPACR REGISTER(0xE000ED88u)
#define CPACR_FPU (0xFu << 20)
#define MPU_CTRL REGISTER(0xE000ED94u)
#define MPU_ON 5u /* and the privileged may do all but write to what is read-only */
#define FPCCR REGISTER(0xE000EF34u)
#define FPCCR_LAZY (1u << 30)
#define FPCCR_AUTOMATIC (1u << 31)

#define NO_FLOATS (1u << 4) /* of EXC_RETURN: the frame has no registers of Helium */
#define FRAME_WORDS 8u
#define FRAME_LR 5u
#define FRAME_PC 6u
#define FRAME_XPSR 7u
#define FRAME_S0 8u
#define FRAME_VPR 25u
#define FRAME_FLOAT_WORDS 26u
#define XPSR_PADDED (1u << 9)
#define XPSR_MIDST 0x0600FC00u /* of what Thumb executes on a condition */
#define VPR_WORD 32u
#define SP 13u
#define LATER_TICKS 14u /* some instructions behind the end of the handler, which takes ten */

struct wish wish;
struct result result;
uint32_t *stack_low;
uint32_t kept[9];   /* of the controller, while a run runs: r4 to r11, sp */
uint32_t others[8]; /* of the run, while a handler runs: r4 to r11 */
static int waits;   /* for the flip */
static uint32_t turns_left;

extern uint32_t main_stack_top[];
extern volatile uint32_t jump_sp, jump_pc;

void launch(void (*run)(void));
void jump(void);
void on_tick(void);
void on_call(void);
void on_fault(void);
void end_of_run(void);
uint32_t tick(uint32_t *frame, uint32_t exc_return);
uint32_t called(const uint32_t *frame);
uint32_t faulted(const uint32_t *frame);

typedef void (*vector_t)(void);
static const struct {
    uint32_t *stack;
    vector_t handlers[15];
} vectors __attribute__((section(".vectors"), used)) = {
    main_stack_top,
    {controller, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault,
     on_fault, on_call, on_fault, on_fault, on_fault, on_tick}};

DRIVER __attribute__((naked)) void finish(int32_t status)
{
    (void)status;
    __asm volatile("svc 0");
}

/* Loads sp and pc and nothing else: a handler cannot move the stack that its frame is on. */
__asm(".section .driver, \"ax\"\n"
      ".syntax unified\n"
      ".thumb\n"
      ".balign 4\n"
      ".global jump, jump_sp, jump_pc\n"
      ".type jump, %function\n"
      "jump: ldr.w sp, jump_sp\n"
      "      ldr.w pc, jump_pc\n"
      ".balign 4\n"
      "jump_sp: .word 0\n"
      "jump_pc: .word 0\n"
      ".text\n");

/* Into the run, with the same in all registers each time; end_of_run comes back behind the call. */
DRIVER __attribute__((naked, noipa)) void launch(void (*run)(void))
{
    (void)run;
    __asm volatile(".syntax unified\n"
                   "push {r3, lr}\n"
                   "ldr r1, =kept\n"
                   "stmia r1!, {r4-r11}\n"
                   "str sp, [r1]\n"
                   "ldr r1, =stack_top\n"
                   "msr psp, r1\n"
                   "vmov.i32 q0, #0\n vmov.i32 q1, #0\n vmov.i32 q2, #0\n vmov.i32 q3, #0\n"
                   "vmov.i32 q4, #0\n vmov.i32 q5, #0\n vmov.i32 q6, #0\n vmov.i32 q7, #0\n"
                   "movs r1, #0\n"
                   "vmsr vpr, r1\n"
                   "movs r2, #0\n movs r3, #0\n movs r4, #0\n movs r5, #0\n movs r6, #0\n"
                   "movs r7, #0\n mov r8, r7\n mov r9, r7\n mov r10, r7\n mov r11, r7\n"
                   "ldr r12, =0xE000E010\n"
                   "movs r1, #7\n"
                   "mrs lr, control\n"
                   "orr lr, lr, #7\n"
                   "str r1, [r12]\n" /* the timer begins */
                   "msr control, lr\n"
                   "isb\n"
                   "mov r12, r0\n movs r1, #0\n movs r0, #0\n"
                   "bx r12\n");
}

/* In a handler: makes a frame of its own on the controller's stack and returns through that. */
__attribute__((naked)) void end_of_run(void)
{
    __asm volatile(".syntax unified\n"
                   "ldr r1, =kept + 32\n"
                   "ldr r0, [r1]\n"
                   "sub r0, r0, #32\n"
                   "msr msp, r0\n"
                   "ldr r1, =1f\n"
                   "str r1, [r0, #24]\n"
                   "mov r1, #0x01000000\n"
                   "str r1, [r0, #28]\n"
                   "movs r1, #0\n"
                   "msr control, r1\n"
                   "isb\n"
                   "mvn lr, #6\n"
                   "bx lr\n"
                   ".balign 4\n"
                   ".thumb_func\n"
                   "1: ldr r1, =kept\n"
                   "ldmia r1, {r4-r11}\n"
                   "pop {r3, pc}\n");
}

/* What the run had in r4 to r11 is put into `others` and taken from there. */
#define HANDLER(function)                                                                          \
    __asm volatile(".syntax unified\n"                                                             \
                   "ldr r0, =others\n"                                                             \
                   "stmia r0, {r4-r11}\n"                                                          \
                   "mrs r0, psp\n"                                                                 \
                   "mov r1, lr\n"                                                                  \
                   "push {r1, lr}\n"                                                               \
                   "bl " #function "\n"                                                            \
                   "pop {r1, lr}\n"                                                                \
                   "cmp r0, #0\n"                                                                  \
                   "bne end_of_run\n"                                                              \
                   "ldr r0, =others\n"                                                             \
                   "ldmia r0, {r4-r11}\n"                                                          \
                   "bx lr\n")

__attribute__((naked)) void on_tick(void)
{
    HANDLER(tick);
}

__attribute__((naked)) void on_call(void)
{
    HANDLER(called);
}

__attribute__((naked)) void on_fault(void)
{
    HANDLER(faulted);
}

static void set_guard(uint32_t control)
{
    MPU_CTRL = control;
    __asm volatile("dsb\n isb" ::: "memory");
}

static void set_timer(uint32_t ticks)
{
    SYST_CSR = 0;
    ICSR = ICSR_PENDSTCLR; /* it may have come to an end again meanwhile */
    SYST_RVR = ticks;
    SYST_CVR = 0; /* the next tick loads it */
}

void set_up_core(void)
{
    CPACR |= CPACR_FPU;
    FPCCR = (FPCCR | FPCCR_AUTOMATIC) & ~FPCCR_LAZY;
    SHCSR |= SHCSR_FAULTS;
    SHPR3 = SHPR3_SYSTICK_LATER;
    __asm volatile("dsb\n isb" ::: "memory");
}

void run_guarded(void (*run)(void), uint32_t ticks, uint32_t reload, uint32_t turns)
{
    waits = (ticks != 0u);
    turns_left = turns;
    set_timer(waits ? ticks : reload);
    set_guard(MPU_ON);
    launch(run);
}

static uint32_t leave(enum end end)
{
    SYST_CSR = 0;
    set_guard(0);
    ICSR = ICSR_PENDSTCLR;
    result.end = end;
    return 1;
}

static void flip_vectors(uint32_t *frame, uint32_t exc_return)
{
    uint32_t upper[16];
    if ((exc_return & NO_FLOATS) != 0u) {
        return; /* a call of the run's caller: nothing is in them */
    }
    if (wish.at == VPR_WORD) {
        frame[FRAME_VPR] ^= wish.mask;
    } else if (wish.at < 16u) {
        frame[FRAME_S0 + wish.at] ^= wish.mask;
    } else {
        __asm volatile("vstmia %0, {s16-s31}" : : "r"(upper) : "memory");
        upper[wish.at - 16u] ^= wish.mask;
        __asm volatile("vldmia %0, {s16-s31}" : : "r"(upper) : "memory");
    }
}

static void flip_register(uint32_t *frame, uint32_t pointer)
{
    if (wish.at == SP) {
        jump_sp = pointer ^ wish.mask;
        jump_pc = frame[FRAME_PC] | 1u;
        frame[FRAME_PC] = (uint32_t)jump & ~1u;
    } else if (wish.at >= 4u && wish.at <= 11u) {
        others[wish.at - 4u] ^= wish.mask;
    } else {
        /* r0 to r3, r12, lr, pc */
        frame[(wish.at < 4u) ? wish.at : (wish.at == 12u) ? 4u : wish.at - 14u + FRAME_LR] ^=
            wish.mask;
    }
}

/* A bit of the stack's bytes from `pointer` up. */
static void flip_stack(uint32_t pointer)
{
    uint32_t used = (uint32_t)stack_top - pointer;
    used = (used < 4u) ? 4u : used;
    ((unsigned char *)stack_top - used)[wish.at / 8u % used] ^= (unsigned char)(1u << wish.at % 8u);
}

static void flip(uint32_t *frame, uint32_t exc_return, uint32_t pointer)
{
    switch (wish.place) {
    case MEMORY:
        *(volatile unsigned char *)wish.at ^= (unsigned char)wish.mask;
        break;
    case CORE_REGISTER:
        flip_register(frame, pointer);
        break;
    case FLAGS:
        frame[FRAME_XPSR] ^= wish.mask;
        break;
    case STACK:
        flip_stack(pointer);
        break;
    case VECTORS:
        flip_vectors(frame, exc_return);
        break;
    default:
        break;
    }
}

uint32_t tick(uint32_t *frame, uint32_t exc_return)
{
    uint32_t words = ((exc_return & NO_FLOATS) != 0u) ? FRAME_WORDS : FRAME_FLOAT_WORDS;
    uint32_t pointer = (uint32_t)(frame + words);
    if (!waits) {
        return (--turns_left == 0u) ? leave(ENDLESS) : 0u;
    }
    if (wish.place == CORE_REGISTER && wish.at == SP && (frame[FRAME_XPSR] & XPSR_MIDST) != 0u) {
        set_timer(LATER_TICKS); /* a jump would be executed on the condition */
        SYST_CSR = SYST_RUN;
        return 0;
    }
    if ((frame[FRAME_XPSR] & XPSR_PADDED) != 0u) {
        pointer += 4u;
    }
    waits = 0;
    result.stopped_at = frame[FRAME_PC];
    set_timer(wish.reload);
    set_guard(0);
    flip(frame, exc_return, pointer);
    set_guard(MPU_ON);
    SYST_CSR = SYST_RUN;
    return 0;
}

uint32_t called(const uint32_t *frame)
{
    result.ticks = SYST_RVR - SYST_CVR;
    result.status = frame[0];
    /* A flip makes calls of the supervisor elsewhere, which nobody would answer. */
    return leave((frame[FRAME_PC] == ((uint32_t)finish & ~1u) + 2u) ? ENDED : FAULT);
}

uint32_t faulted(const uint32_t *frame)
{
    result.cfsr = CFSR;
    result.mmfar = MMFAR;
    result.bfar = BFAR;
    if ((frame >= stack_low) && (frame < stack_top)) {
        result.pc = frame[FRAME_PC];
    }
    CFSR = result.cfsr; /* ones are cleared */
    HFSR = HFSR;
    return leave(FAULT);
}

/* Two functions that execute a known number of instructions. */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include <stdint.h>

#define CALIBRATE_ROUNDS 2000000u
#define CALIBRATE_INSTRUCTIONS (2u * CALIBRATE_ROUNDS + 1u)

/* One instruction: the return. */
static __attribute__((naked, noinline)) int32_t calibrate_empty(void *unused)
{
    (void)unused;
#if defined(__riscv)
    __asm volatile("ret");
#else
    __asm volatile("bx lr");
#endif
}

/* 2 * rounds + 1 instructions. */
static __attribute__((naked, noinline)) int32_t calibrate_loop(void *rounds)
{
    (void)rounds;
#if defined(__riscv)
    __asm volatile("1: addi a0, a0, -1\n"
                   "   bnez a0, 1b\n"
                   "   ret\n");
#else
    __asm volatile(".syntax unified\n"
                   "1: subs r0, r0, #1\n"
                   "   bne 1b\n"
                   "   bx lr\n");
#endif
}

#endif

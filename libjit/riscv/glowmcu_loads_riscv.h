/*
 * glowmcu_loads_riscv.h: where loads of an unrolled loop stay, on RISC-V.
 */
#ifndef GLOWMCU_LOADS_RISCV_H
#define GLOWMCU_LOADS_RISCV_H

/* Loads stay behind it: gcc would begin with all of a loop, and have no register for the sums. */
#if defined(__riscv) && defined(__GNUC__) && !defined(GLOWMCU_PORTABLE)
#define GLOWMCU_LOADS_STAY() __asm__ volatile("" : : : "memory")
#else
#define GLOWMCU_LOADS_STAY()
#endif

#endif /* GLOWMCU_LOADS_RISCV_H */

/*
 * glowmcu_saved_registers_nodsp.h: how assembly begins and ends that Armv6-M and Armv7-M share.
 */
#ifndef GLOWMCU_SAVED_REGISTERS_NODSP_H
#define GLOWMCU_SAVED_REGISTERS_NODSP_H

#include "glowmcu_thumb.h"

/* r0 to r3 keep the arguments; 36 bytes of stack. */
#if GLOWMCU_THUMB == 2
#define GLOWMCU_SAVE_REGISTERS "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n\t"
#define GLOWMCU_RESTORE_REGISTERS "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
#elif GLOWMCU_THUMB == 1
#define GLOWMCU_SAVE_REGISTERS GLOWMCU_SAVE_ALL
#define GLOWMCU_RESTORE_REGISTERS GLOWMCU_RESTORE_ALL
#endif

#endif /* GLOWMCU_SAVED_REGISTERS_NODSP_H */

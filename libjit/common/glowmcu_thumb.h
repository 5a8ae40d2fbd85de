/*
 * glowmcu_thumb.h: which assembly may be used, and how functions made of it are declared.
 *
 * Define GLOWMCU_PORTABLE for the whole bundle and there is none: kernels are the C99 beside it.
 */
#ifndef GLOWMCU_THUMB_H
#define GLOWMCU_THUMB_H

#include "glowmcu_base.h"

/*
 * Assembly keeps and restores r9, but an interrupt may come meanwhile: where r9 is the base of all
 * data it is not for use. With -ffixed-r9, of which no macro tells, define GLOWMCU_PORTABLE;
 * GLOWMCU_R9_IS_FREE says that position-independent code has its base elsewhere.
 */
#if (defined(__PIC__) || defined(__FDPIC__) || defined(__ARM_RWPI)) && !defined(GLOWMCU_R9_IS_FREE)
#define GLOWMCU_R9_IS_TAKEN 1
#else
#define GLOWMCU_R9_IS_TAKEN 0
#endif

/* 1: Armv6-M and Armv8-M baseline. 2: Armv7-M and above. 0: no assembly. */
#if !defined(__thumb__) || !defined(__GNUC__) || defined(__CC_ARM) || defined(GLOWMCU_PORTABLE)
#define GLOWMCU_THUMB 0
#elif GLOWMCU_BIG_ENDIAN || GLOWMCU_R9_IS_TAKEN
#define GLOWMCU_THUMB 0
#elif defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2
#define GLOWMCU_THUMB 2
#else
#define GLOWMCU_THUMB 1
#endif

/*
 * Whether words may be loaded from any address. gcc says so; clang has no macro for it: with its
 * -mno-unaligned-access define GLOWMCU_PORTABLE.
 */
#if defined(__ARM_FEATURE_UNALIGNED) || defined(__clang__)
#define GLOWMCU_HAS_UNALIGNED 1
#else
#define GLOWMCU_HAS_UNALIGNED 0
#endif

#if GLOWMCU_THUMB != 0
#if defined(__has_attribute)
#define GLOWMCU_HAS_ATTRIBUTE(name) __has_attribute(name)
#else
#define GLOWMCU_HAS_ATTRIBUTE(name) 0
#endif

#if GLOWMCU_HAS_ATTRIBUTE(no_stack_protector)
#define GLOWMCU_NO_STACK_PROTECTOR __attribute__((no_stack_protector))
#elif !defined(__clang__)
#define GLOWMCU_NO_STACK_PROTECTOR __attribute__((optimize("no-stack-protector")))
#else
#define GLOWMCU_NO_STACK_PROTECTOR
#endif
#if GLOWMCU_HAS_ATTRIBUTE(no_profile_instrument_function)
#define GLOWMCU_NO_PROFILE __attribute__((no_profile_instrument_function))
#else
#define GLOWMCU_NO_PROFILE
#endif
#if GLOWMCU_HAS_ATTRIBUTE(no_sanitize_coverage)
#define GLOWMCU_NO_COVERAGE __attribute__((no_sanitize_coverage))
#else
#define GLOWMCU_NO_COVERAGE
#endif

/*
 * A function that is assembly from its first instruction, and its parameters: whatever a flag would
 * add in front (a canary, a counter, a call) finds no stack frame and spoils registers.
 */
#define GLOWMCU_NAKED                                                                 \
    __attribute__((naked, noinline, used, no_instrument_function))                    \
    GLOWMCU_NO_STACK_PROTECTOR GLOWMCU_NO_PROFILE GLOWMCU_NO_COVERAGE
#define GLOWMCU_UNUSED __attribute__((unused))

/* C99 asks for strings of 4,095 characters, and assembly of a function is one of more. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Woverlength-strings"
#endif
#endif

#if GLOWMCU_THUMB == 1
/* What such a function begins and ends with. r0 to r3 keep the arguments; 36 bytes of stack. */
#define GLOWMCU_SAVE_ALL             \
    "push {r4, r5, r6, r7, lr}\n\t" \
    "mov r4, r8\n\t"                \
    "mov r5, r9\n\t"                \
    "mov r6, r10\n\t"               \
    "mov r7, r11\n\t"               \
    "push {r4, r5, r6, r7}\n\t"
#define GLOWMCU_RESTORE_ALL          \
    "pop {r4, r5, r6, r7}\n\t"      \
    "mov r8, r4\n\t"                \
    "mov r9, r5\n\t"                \
    "mov r10, r6\n\t"               \
    "mov r11, r7\n\t"               \
    "pop {r4, r5, r6, r7, pc}\n"
#endif

#endif /* GLOWMCU_THUMB_H */

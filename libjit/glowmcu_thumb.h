/*
 * glowmcu_thumb.h: which Thumb instruction set assembly may use.
 */
#ifndef GLOWMCU_THUMB_H
#define GLOWMCU_THUMB_H

#include "glowmcu_base.h"

/*
 * 1: Armv6-M and Armv8-M baseline. 2: Armv7-M and above. 0: another machine, or GLOWMCU_PORTABLE.
 */
#if !defined(__thumb__) || defined(GLOWMCU_PORTABLE)
#define GLOWMCU_THUMB 0
#elif defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2
#define GLOWMCU_THUMB 2
#else
#define GLOWMCU_THUMB 1
#endif

#endif /* GLOWMCU_THUMB_H */

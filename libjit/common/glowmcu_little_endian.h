/*
 * glowmcu_little_endian.h: for kernels that read bytes or halves out of words.
 *
 * They are for cores that store the low byte first, and so does every compiler that may run them.
 */
#ifndef GLOWMCU_LITTLE_ENDIAN_H
#define GLOWMCU_LITTLE_ENDIAN_H

#include "glowmcu_base.h"

#if GLOWMCU_BIG_ENDIAN
#error "these kernels need a little-endian processor: compile the model with --board generic"
#endif

#endif /* GLOWMCU_LITTLE_ENDIAN_H */

/*
 * vx_unit.h: intrinsics of the vector unit. It has four registers of sixteen int32 lanes, and is
 * sent instructions of 32 bits with an address: bits 0 to 3 say which, 4 to 15 the registers d, a
 * and b, 16 and up how many lanes.
 */
#ifndef VX_UNIT_H
#define VX_UNIT_H

#include "glowmcu_base.h"

#define VX_ZERO 0u       /* d = 0 */
#define VX_LOAD 1u       /* d = int8 from the address, zeros in lanes that are not asked for */
#define VX_ACCUMULATE 2u /* d += a * b */
#define VX_SUM 3u        /* the sum of all lanes of a */

#define VX_INSTRUCTION(what, d, a, b, lanes) \
    ((uint32_t)(what) | ((d) << 4) | ((a) << 8) | ((b) << 12) | ((uint32_t)(lanes) << 16))

#if defined(VX_UNIT)
/* Where the unit is: of the emulator, a function of Python. */
int32_t (*vx_unit)(uint32_t instruction, const void *address);
#endif

#endif /* VX_UNIT_H */

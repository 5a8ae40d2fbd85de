/*
 * glowmcu_look_up_s16.h: functions of one int16 element as tables of 513 values, linear in between.
 */
#ifndef GLOWMCU_LOOK_UP_S16_H
#define GLOWMCU_LOOK_UP_S16_H

#include "glowmcu_requantize.h"

/* The table's value at an int16, linear between two entries. */
GLOWMCU_CODE
static inline int32_t glowmcu_look_up_s16_one(const int16_t *table, int32_t x)
{
    const int16_t *entry = table + 256 + (x >> 7);

    return entry[0] + (((entry[1] - entry[0]) * (x & 0x7F) + 64) >> 7);
}

/* The same at `at`, which is clamped to int16. */
GLOWMCU_CODE
static inline int32_t glowmcu_look_up(const int16_t *table, int32_t at)
{
    return glowmcu_look_up_s16_one(table, glowmcu_clamp(at, -32768, 32767));
}

/* `x` modulo 2^16, as int16 holds it. */
GLOWMCU_CODE
static inline int32_t glowmcu_wrap_s16(int32_t x)
{
    return ((x + 32768) & 0xFFFF) - 32768;
}

/*
 * The same where entries are more than 32767 apart: TensorFlow Lite keeps their difference, and
 * the sum with it, in 16 bits.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_look_up_steep_s16_one(const int16_t *table, int32_t x)
{
    const int16_t *entry = table + 256 + (x >> 7);
    const int32_t slope = glowmcu_wrap_s16(entry[1] - entry[0]);

    return glowmcu_wrap_s16(entry[0] + ((slope * (x & 0x7F) + 64) >> 7));
}

#endif /* GLOWMCU_LOOK_UP_S16_H */

/*
 * glowmcu_signal_log.h: natural logarithms by lines in 128 segments.
 */
#ifndef GLOWMCU_SIGNAL_LOG_H
#define GLOWMCU_SIGNAL_LOG_H

#include "glowmcu_signal_bits.h"

typedef struct {
    int32_t count;
    int32_t input_bits;    /* 0 to 31 */
    uint32_t output_scale;
    const int16_t *table;  /* [129]: log2(1 + x) - x in units of 2^-16 */
} glowmcu_signal_log;

/* log2 of x >= 2 in units of 2^-16: below 2^21. */
GLOWMCU_CODE
static inline uint32_t glowmcu_signal_log2(const int16_t *table, uint32_t x)
{
    const int32_t whole = glowmcu_bit_length(x) - 1;
    const uint32_t above = x - ((uint32_t)1 << whole);
    const int32_t fraction =
        (int32_t)((whole < 16) ? above << (16 - whole) : above >> (whole - 16));
    const int16_t *line = table + (fraction >> 9);
    const int32_t inside = ((line[1] - line[0]) * (fraction & 511)) >> 16;

    return (uint32_t)((whole << 16) + fraction + line[0] + inside);
}

GLOWMCU_CODE
static void glowmcu_signal_log_u32(const glowmcu_signal_log *p, const uint32_t *in, int16_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        const uint32_t x = in[i] << p->input_bits;
        uint32_t value = 0u;

        if (x > 1u) {
            /* ln 2 in units of 2^-16 */
            const uint64_t natural = (uint64_t)45426u * glowmcu_signal_log2(p->table, x) + 32768u;

            value = (p->output_scale * (uint32_t)(natural >> 16) + 32768u) >> 16;
        }
        out[i] = (int16_t)((value < 32767u) ? value : 32767u);
    }
}

#endif /* GLOWMCU_SIGNAL_LOG_H */

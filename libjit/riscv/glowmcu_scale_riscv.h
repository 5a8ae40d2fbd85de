/*
 * glowmcu_scale_riscv.h: sums to int8 with the high word of products, for RISC-V.
 *
 * Floor and two-sided: lines through all thresholds, proved by the compiler. Literal: what
 * TensorFlow Lite computes, both roundings folded.
 */
#ifndef GLOWMCU_SCALE_RISCV_H
#define GLOWMCU_SCALE_RISCV_H

#include "glowmcu_base.h"

#define GLOWMCU_SCALE_FLOOR 0
#define GLOWMCU_SCALE_TWO_SIDED 1
#define GLOWMCU_SCALE_LITERAL 2
/* Sums are shifted left by so much before the product. */
#define GLOWMCU_SCALE_PRESHIFT 8

typedef struct {
    /*
     * A channel. Floor: addend, multiplier. Two-sided: start, addend, multiplier, step.
     * Literal: start, multiplier, step, shift.
     */
    const int32_t *constants;
    int32_t form;
    int32_t postshift;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_scale_riscv;

/* The high word of a product: MULH. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_high_word(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b) >> 32);
}

/* (addend + (value << 8)) modulo 2^32; the compiler has proved that it fits. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_scale_operand(int32_t value, int32_t addend)
{
    return (int32_t)(((uint32_t)value << GLOWMCU_SCALE_PRESHIFT) + (uint32_t)addend);
}

static GLOWMCU_ALWAYS_INLINE int8_t glowmcu_scale_clamp(int32_t value, int32_t least, int32_t most)
{
    const int32_t above = (value < least) ? least : value;

    return (int8_t)((above > most) ? most : above);
}

GLOWMCU_CODE
static void glowmcu_scale_floor_riscv(const glowmcu_scale_riscv *p, const int32_t *sums,
    int8_t *out, int32_t count)
{
    const int32_t *c = p->constants;
    const int8_t *end = out + count;
    const int32_t postshift = p->postshift;
    const int32_t least = p->clamp_min;
    const int32_t most = p->clamp_max;

    while (out != end) {
        const int32_t operand = glowmcu_scale_operand(sums[0], c[0]);

        *out = glowmcu_scale_clamp(glowmcu_high_word(operand, c[1]) >> postshift, least, most);
        ++out;
        ++sums;
        c += 2;
    }
}

GLOWMCU_CODE
static void glowmcu_scale_two_sided_riscv(const glowmcu_scale_riscv *p, const int32_t *sums,
    int8_t *out, int32_t count)
{
    const int32_t *c = p->constants;
    const int8_t *end = out + count;
    const int32_t postshift = p->postshift;
    const int32_t least = p->clamp_min;
    const int32_t most = p->clamp_max;

    while (out != end) {
        const int32_t value = (int32_t)((uint32_t)sums[0] + (uint32_t)c[0]);
        const int32_t high = glowmcu_high_word(glowmcu_scale_operand(value, c[1]), c[2]);

        *out = glowmcu_scale_clamp((high + (c[3] & glowmcu_sign(value))) >> postshift, least, most);
        ++out;
        ++sums;
        c += 4;
    }
}

GLOWMCU_CODE
static void glowmcu_scale_literal_riscv(const glowmcu_scale_riscv *p, const int32_t *sums,
    int8_t *out, int32_t count)
{
    const int32_t *c = p->constants;
    const int8_t *end = out + count;

    while (out != end) {
        const int32_t value = (int32_t)((uint32_t)sums[0] + (uint32_t)c[0]); /* below 2^30 */
        const int64_t product = (int64_t)(2 * value) * c[1] + ((int64_t)1 << 31);
        const int32_t high = (int32_t)(product >> 32) + c[2] + glowmcu_sign(value);

        *out = glowmcu_scale_clamp(high >> c[3], p->clamp_min, p->clamp_max);
        ++out;
        ++sums;
        c += 4;
    }
}

/* `count` sums to all channels of a pixel. */
GLOWMCU_CODE
static inline void glowmcu_scale_sums_riscv(const glowmcu_scale_riscv *p, const int32_t *sums,
    int8_t *out, int32_t count)
{
    if (p->form == GLOWMCU_SCALE_FLOOR) {
        glowmcu_scale_floor_riscv(p, sums, out, count);
    } else if (p->form == GLOWMCU_SCALE_TWO_SIDED) {
        glowmcu_scale_two_sided_riscv(p, sums, out, count);
    } else {
        glowmcu_scale_literal_riscv(p, sums, out, count);
    }
}

#endif /* GLOWMCU_SCALE_RISCV_H */

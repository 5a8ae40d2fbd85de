/*
 * glowmcu_bent_line.h: int8 add and sub of two elements where a line that is bent at zero gives the
 * literal result: halves go away from zero. The compiler has checked every pair of operands.
 */
#ifndef GLOWMCU_BENT_LINE_H
#define GLOWMCU_BENT_LINE_H

#include "glowmcu_line.h"

/* No sum on the way leaves int32. */
typedef struct {
    int32_t p;
    int32_t q;
    int32_t c;
    int32_t addend;
    int32_t bend;
} glowmcu_bent_line;

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_bent_line_one(const glowmcu_bent_line *l, int32_t a,
    int32_t b)
{
    const int32_t sum = l->c + a * l->p + b * l->q;

    return glowmcu_line_out(sum + l->addend - (l->bend & glowmcu_sign(sum)));
}

#endif /* GLOWMCU_BENT_LINE_H */

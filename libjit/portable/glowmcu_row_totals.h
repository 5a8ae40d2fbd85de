/*
 * glowmcu_row_totals.h: int8 sums and means of a whole image, rescaled, from the sums of its rows.
 */
#ifndef GLOWMCU_ROW_TOTALS_H
#define GLOWMCU_ROW_TOTALS_H

#include "glowmcu_requantize.h"
#include "glowmcu_row_sums.h"

/* `offset` is -input zero point * pixels. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_row_total(const glowmcu_row_sums *p, int32_t sum)
{
    const int32_t value = glowmcu_requantize(sum + p->offset, p->multiplier, p->shift);

    return glowmcu_clamp(value + p->out_zero_point, p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_ROW_TOTALS_H */

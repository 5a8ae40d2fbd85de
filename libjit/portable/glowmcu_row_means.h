/*
 * glowmcu_row_means.h: int8 average pooling of a whole image from the sums of its rows.
 */
#ifndef GLOWMCU_ROW_MEANS_H
#define GLOWMCU_ROW_MEANS_H

#include "glowmcu_pool_2d.h"
#include "glowmcu_requantize.h"
#include "glowmcu_row_sums.h"

/*
 * Of 256 pixels at most; the multiplier is 2^30 / pixels and up to 2 more, so that halves go away
 * from zero and nothing else changes.
 */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_row_mean(const glowmcu_row_sums *p, int32_t sum)
{
    return glowmcu_clamp(glowmcu_smmlar(4 * sum, p->multiplier, 0), p->clamp_min, p->clamp_max);
}

/* Of up to 2^23 pixels; the multiplier is their number. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_row_quotient(const glowmcu_row_sums *p, int32_t sum)
{
    return glowmcu_clamp(glowmcu_mean(sum, p->multiplier), p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_ROW_MEANS_H */

/*
 * glowmcu_row_sums_f32.h: sums and means over the pixels of a float image whose rows come in parts.
 */
#ifndef GLOWMCU_ROW_SUMS_F32_H
#define GLOWMCU_ROW_SUMS_F32_H

#include "glowmcu_base.h"
#include "glowmcu_clamping.h"

typedef struct {
    int32_t rows; /* of the image */
    int32_t row_pixels;
    int32_t channels;
    int32_t by_row; /* whether each row is summed by itself first */
    float count;    /* what sums are divided by */
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
} glowmcu_row_sums_real;

/* A sum and `pixels` elements `step` apart, one after the other. */
GLOWMCU_CODE
static inline float glowmcu_row_sum_f32(float sum, const float *x, int32_t pixels, int32_t step)
{
    for (; pixels > 0; --pixels, x += step) {
        sum += *x;
    }
    return sum;
}

/*
 * Input rows [first_row, end_row), which begin at `in`. `scratch` (4 bytes a channel, aligned to 4)
 * keeps what earlier rows add up to; row 0 starts anew. With the last row results are written, when
 * no more of `in` is to be read: `out` may lie anywhere but in the scratch.
 */
GLOWMCU_CODE
static void glowmcu_row_sums_f32(const glowmcu_row_sums_real *p, const float *in, float *out,
    int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const int32_t parts = p->by_row ? end_row - first_row : 1;
    const int32_t pixels = p->by_row ? p->row_pixels : (end_row - first_row) * p->row_pixels;
    float *kept = (float *)(void *)scratch;

    for (int32_t c = 0; c < p->channels; ++c) {
        const float *x = in + c;
        float sum = (first_row > 0) ? kept[c] : 0.0f;
        for (int32_t part = 0; part < parts; ++part, x += pixels * p->channels) {
            sum = p->by_row ? sum + glowmcu_row_sum_f32(0.0f, x, pixels, p->channels)
                : glowmcu_row_sum_f32(sum, x, pixels, p->channels);
        }
        kept[c] = sum;
    }
    for (int32_t c = 0; c < p->channels && end_row == p->rows; ++c) {
        out[c] = glowmcu_clamped_f32(kept[c] / p->count, p->clamping, p->clamp_min, p->clamp_max);
    }
}

#endif /* GLOWMCU_ROW_SUMS_F32_H */

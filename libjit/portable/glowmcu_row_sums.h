/*
 * glowmcu_row_sums.h: sums over the pixels of an int8 image whose rows come in parts, from above.
 *
 * Every function takes input rows [first_row, end_row), which begin at `in`, and keeps in `scratch`
 * (aligned to 4 bytes) what earlier rows add up to. Row 0 starts anew; with the last row results
 * are written, when no more of `in` is to be read: `out` may lie anywhere but in the scratch, and
 * may overwrite `in`.
 *
 *   narrow  4 channels at least, 256 pixels at most; scratch: 8 bytes for 4 channels
 *   wide    4 channels at least; scratch: 16 bytes for 4 channels
 *   few     any channels; scratch: 4 bytes a channel
 *
 * Channels that do not fill the last four share it with their neighbours, which then are in two.
 */
#ifndef GLOWMCU_ROW_SUMS_H
#define GLOWMCU_ROW_SUMS_H

#include "glowmcu_dsp.h"

typedef struct {
    int32_t rows; /* of the image */
    int32_t row_pixels;
    int32_t channels;
    /* for the results; see there */
    int32_t offset;
    int32_t multiplier;
    int32_t shift;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_row_sums;

/* The result of a sum over all pixels. */
typedef int32_t (*glowmcu_row_result)(const glowmcu_row_sums *p, int32_t sum);

/* So many elements of int8 add up inside 16 bits: 256 * -128 = -2^15. */
#define GLOWMCU_ROW_SUMS_PART 256

/* Sums of 16 bits of four channels, 0 and 2 in `even`, 1 and 3 in `odd`. */
typedef struct {
    uint32_t even;
    uint32_t odd;
} glowmcu_four_sums;

#if GLOWMCU_HAS_DSP
static GLOWMCU_ALWAYS_INLINE glowmcu_four_sums glowmcu_four_sums_add(glowmcu_four_sums sums,
    const int8_t *x)
{
    const uint32_t word = glowmcu_load_word(x);

    sums.even = glowmcu_sxtab16(sums.even, word);
    sums.odd = glowmcu_sxtab16_ror8(sums.odd, word);
    return sums;
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_upper_sum(uint32_t sums)
{
    return glowmcu_high_half(sums);
}
#else
/* A negative lower sum borrows from the upper one, which gets it back in the end. */
static GLOWMCU_ALWAYS_INLINE glowmcu_four_sums glowmcu_four_sums_add(glowmcu_four_sums sums,
    const int8_t *x)
{
    sums.even += (uint32_t)x[0] + ((uint32_t)x[2] << 16);
    sums.odd += (uint32_t)x[1] + ((uint32_t)x[3] << 16);
    return sums;
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_upper_sum(uint32_t sums)
{
    return glowmcu_high_half(sums - (uint32_t)glowmcu_low_half(sums));
}
#endif

/* Adds `pixels` pixels that are `step` apart. */
static GLOWMCU_ALWAYS_INLINE glowmcu_four_sums glowmcu_four_sums_of(glowmcu_four_sums sums,
    const int8_t *x, int32_t pixels, int32_t step)
{
    for (; pixels >= 4; pixels -= 4) {
        sums = glowmcu_four_sums_add(sums, x);
        sums = glowmcu_four_sums_add(sums, x + step);
        sums = glowmcu_four_sums_add(sums, x + 2 * step);
        sums = glowmcu_four_sums_add(sums, x + 3 * step);
        x += 4 * step;
    }
    if (pixels >= 2) {
        sums = glowmcu_four_sums_add(sums, x);
        sums = glowmcu_four_sums_add(sums, x + step);
        x += 2 * step;
    }
    if ((pixels & 1) != 0) {
        sums = glowmcu_four_sums_add(sums, x);
    }
    return sums;
}

/* The first channel of the four that channel `c` begins, or of the last four. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_four_at(int32_t c, int32_t channels)
{
    return (c + 4 > channels) ? channels - 4 : c;
}

GLOWMCU_CODE
static inline void glowmcu_narrow_sums_keep(glowmcu_four_sums *kept, const int8_t *in,
    int32_t pixels, int32_t channels, int32_t is_first)
{
    for (int32_t c = 0; c < channels; c += 4) {
        glowmcu_four_sums sums = {0, 0};
        if (!is_first) {
            sums = *kept;
        }
        *kept = glowmcu_four_sums_of(sums, in + glowmcu_four_at(c, channels), pixels, channels);
        ++kept;
    }
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_row_sums_narrow(glowmcu_row_result result,
    const glowmcu_row_sums *p, const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row,
    int32_t end_row)
{
    const glowmcu_row_sums constants = *p; /* in registers: stores of bytes could change `p` */
    const int32_t channels = p->channels;
    glowmcu_four_sums *kept = (glowmcu_four_sums *)(void *)scratch;

    glowmcu_narrow_sums_keep(kept, in, (end_row - first_row) * p->row_pixels, channels,
        first_row == 0);
    if (end_row < constants.rows) {
        return;
    }
    for (int32_t c = 0; c < channels; c += 4, ++kept) {
        int8_t *y = out + glowmcu_four_at(c, channels);
        y[0] = (int8_t)result(&constants, glowmcu_low_half(kept->even));
        y[1] = (int8_t)result(&constants, glowmcu_low_half(kept->odd));
        y[2] = (int8_t)result(&constants, glowmcu_upper_sum(kept->even));
        y[3] = (int8_t)result(&constants, glowmcu_upper_sum(kept->odd));
    }
}

GLOWMCU_CODE
static inline void glowmcu_wide_sums_keep(int32_t *kept, const int8_t *in, int32_t pixels,
    int32_t channels, int32_t is_first)
{
    for (int32_t c = 0; c < channels; c += 4, kept += 4) {
        const int8_t *x = in + glowmcu_four_at(c, channels);
        if (is_first != 0) {
            (void)memset(kept, 0, 4u * sizeof *kept);
        }
        for (int32_t left = pixels; left > 0; left -= GLOWMCU_ROW_SUMS_PART) {
            const int32_t part = (left < GLOWMCU_ROW_SUMS_PART) ? left : GLOWMCU_ROW_SUMS_PART;
            glowmcu_four_sums sums = {0, 0};
            sums = glowmcu_four_sums_of(sums, x, part, channels);
            kept[0] += glowmcu_low_half(sums.even);
            kept[1] += glowmcu_low_half(sums.odd);
            kept[2] += glowmcu_upper_sum(sums.even);
            kept[3] += glowmcu_upper_sum(sums.odd);
            x += part * channels;
        }
    }
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_row_sums_wide(glowmcu_row_result result,
    const glowmcu_row_sums *p, const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row,
    int32_t end_row)
{
    const glowmcu_row_sums constants = *p; /* in registers: stores of bytes could change `p` */
    const int32_t channels = p->channels;
    int32_t *kept = (int32_t *)(void *)scratch;

    glowmcu_wide_sums_keep(kept, in, (end_row - first_row) * p->row_pixels, channels,
        first_row == 0);
    if (end_row < constants.rows) {
        return;
    }
    for (int32_t c = 0; c < channels; c += 4, kept += 4) {
        int8_t *y = out + glowmcu_four_at(c, channels);
        for (int32_t i = 0; i < 4; ++i) {
            y[i] = (int8_t)result(&constants, kept[i]);
        }
    }
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_row_sums_few(glowmcu_row_result result,
    const glowmcu_row_sums *p, const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row,
    int32_t end_row)
{
    int32_t *kept = (int32_t *)(void *)scratch;
    const int32_t pixels = (end_row - first_row) * p->row_pixels;

    for (int32_t c = 0; c < p->channels; ++c) {
        const int8_t *x = in + c;
        int32_t sum = (first_row > 0) ? kept[c] : 0;
        for (int32_t left = pixels; left > 0; --left) {
            sum += *x;
            x += p->channels;
        }
        kept[c] = sum;
    }
    for (int32_t c = 0; c < p->channels && end_row == p->rows; ++c) {
        out[c] = (int8_t)result(p, kept[c]);
    }
}

#endif /* GLOWMCU_ROW_SUMS_H */

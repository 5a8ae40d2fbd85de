/*
 * glowmcu_depthwise_taps_dsp.h: int8 depthwise convolution of any window for the DSP extension.
 *
 * Pixel by pixel: a table says where the taps of the window are (a pixel of zero points for those
 * outside the image), then four channels at a time go through it by pairs of taps. Two words of a
 * pair become, for each channel, {x of the first tap, x of the second}; weights are stored so that
 * they unpack alike. Sums are over x, not x - zero_point; constants account for that.
 *
 * Where an output channel does not read the input channel of the same number (a depth multiplier),
 * or there are fewer than four, the window is copied first, a byte for each output channel.
 */
#ifndef GLOWMCU_DEPTHWISE_TAPS_DSP_H
#define GLOWMCU_DEPTHWISE_TAPS_DSP_H

#include "glowmcu_depthwise_forms.h"

typedef struct {
    int32_t pairs;        /* the assembly reads the first five members */
    int32_t channels;     /* of the output, at least four */
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t rounding;     /* 2 * out_zero_point + 1 */
    int32_t out_channels; /* less than `channels` where there are fewer than four */
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t depth_multiplier;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t is_padded;
    int32_t is_copied;
    const int32_t *blocks; /* of four channels: two words a pair of taps, then constants */
} glowmcu_depthwise_taps;

/* All channels of one pixel. `table` holds a pointer for each tap, an even number of them. */
typedef void (*glowmcu_depthwise_pixel)(const int8_t *table, int8_t *out, const int32_t *blocks,
    const glowmcu_depthwise_taps *p);

GLOWMCU_CODE
static inline int8_t *glowmcu_depthwise_put_tap(int8_t *table, const int8_t *tap)
{
    (void)memcpy(table, &tap, sizeof tap);
    return table + sizeof tap;
}

/* The input channels of `tap` under the output channels, in `copy`. */
GLOWMCU_CODE
static void glowmcu_depthwise_copy_tap(const glowmcu_depthwise_taps *p, const int8_t *tap,
    int8_t *copy)
{
    for (int32_t ic = 0; ic < p->in_channels; ++ic) {
        const uint32_t four = (uint32_t)(uint8_t)tap[ic] * 0x01010101u;
        int32_t m = p->depth_multiplier;
        for (; m >= 4; m -= 4) {
            (void)memcpy(copy, &four, sizeof four);
            copy += 4;
        }
        for (; m > 0; --m) {
            *copy = tap[ic];
            ++copy;
        }
    }
}

/* The taps of the window whose first one is at (top, left); `in` is row `in_row`. */
GLOWMCU_CODE
static void glowmcu_depthwise_find_taps(const glowmcu_depthwise_taps *p, const int8_t *in,
    int32_t in_row, const int8_t *padding, int8_t *copy, int32_t top, int32_t left, int8_t *table)
{
    const int8_t *tap = padding;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t y = top + ky * p->dilation_y;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int32_t x = left + kx * p->dilation_x;
            tap = padding;
            if (y >= 0 && y < p->in_height && x >= 0 && x < p->in_width) {
                tap = in + ((y - in_row) * p->in_width + x) * p->in_channels;
            }
            if (p->is_copied != 0) {
                glowmcu_depthwise_copy_tap(p, tap, copy);
                tap = copy;
                copy += p->channels;
            }
            table = glowmcu_depthwise_put_tap(table, tap);
        }
    }
    if ((p->kernel_height * p->kernel_width & 1) != 0) {
        (void)glowmcu_depthwise_put_tap(table, tap); /* its weights are 0 */
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * Scratch: the table; a pixel of zero points where any is needed; copies of the window's pixels and
 * a pixel of output where windows are copied.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_taps_rows(const glowmcu_depthwise_taps *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row, glowmcu_depthwise_pixel pixel)
{
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int8_t *padding = scratch + (size_t)(2 * p->pairs) * sizeof(int8_t *);
    int8_t *copy = padding + (p->is_padded ? p->in_channels : 0);
    int8_t *few = copy + p->channels * p->kernel_height * p->kernel_width;

    if (p->is_padded != 0) {
        (void)memset(padding, (int)p->in_zero_point, (size_t)p->in_channels);
    }
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            glowmcu_depthwise_find_taps(p, in, in_row, padding, copy,
                oy * p->stride_y - p->pad_top, ox * p->stride_x - p->pad_left, scratch);
            if (p->out_channels < p->channels) {
                pixel(scratch, few, p->blocks, p);
                (void)memcpy(out, few, (size_t)p->out_channels);
            } else {
                pixel(scratch, out, p->blocks, p);
            }
            out += p->out_channels;
        }
    }
}

#if !GLOWMCU_HAS_DSP
GLOWMCU_CODE
static inline const int8_t *glowmcu_depthwise_tap(const int8_t *table, int32_t index)
{
    const int8_t *tap;

    (void)memcpy(&tap, table + (size_t)index * sizeof tap, sizeof tap);
    return tap;
}

/* What the assembly computes. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_pixel(const int8_t *table, int8_t *out,
    const int32_t *w, const glowmcu_depthwise_taps *p, int32_t form, int32_t preshift,
    int32_t postshift)
{
    const int32_t last = p->channels - 4;

    for (int32_t channel = 0; channel < p->channels; channel += 4) {
        const int32_t c = (channel < last) ? channel : last;
        int32_t sums[4] = {0, 0, 0, 0};
        for (int32_t pair = 0; pair < p->pairs; ++pair, w += 2) {
            const uint32_t a = glowmcu_load_word(glowmcu_depthwise_tap(table, 2 * pair) + c);
            const uint32_t b = glowmcu_load_word(glowmcu_depthwise_tap(table, 2 * pair + 1) + c);
            for (int32_t i = 0; i < 2; ++i) {
                const uint32_t x = (i == 0) ? glowmcu_pack_low(a, b) : glowmcu_pack_high(a, b);
                const uint32_t weights = (uint32_t)w[i];
                sums[2 * i] = glowmcu_smlad(
                    glowmcu_sxtb16(x), glowmcu_sxtb16(weights), sums[2 * i]);
                sums[2 * i + 1] = glowmcu_smlad(
                    glowmcu_sxtb16_ror8(x), glowmcu_sxtb16_ror8(weights), sums[2 * i + 1]);
            }
        }
        for (int32_t i = 0; i < 4; ++i, w += 2) {
            int32_t x = glowmcu_depthwise_finish(
                sums[i], w, form, preshift, postshift, p->rounding);
            x = (x < p->clamp_min) ? p->clamp_min : x;
            out[c + i] = (int8_t)((x > p->clamp_max) ? p->clamp_max : x);
        }
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_TAPS_DSP_H */

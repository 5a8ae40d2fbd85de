/*
 * glowmcu_depthwise_near_taps_dsp.h: int8 depthwise convolution for the DSP extension, of windows
 * without padding whose taps are so near to each other that their distances are immediates.
 *
 * Pixel by pixel, four channels at a time by pairs of taps; no scratch. A block of
 * four channels is two words of weights a pair of taps, then constants; words of two inputs become,
 * for each channel, {x of the first tap, x of the second}. Sums are over x, not x - zero_point.
 */
#ifndef GLOWMCU_DEPTHWISE_NEAR_TAPS_DSP_H
#define GLOWMCU_DEPTHWISE_NEAR_TAPS_DSP_H

#include "glowmcu_depthwise_forms.h"

typedef struct {
    int32_t channels;   /* at least four; the assembly reads the first four members */
    int32_t rounding;   /* 2 * out_zero_point + 1 */
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t out_width;
    int32_t window_step; /* bytes from a window of the input to the next */
    int32_t window_row;  /* and to that of the next row */
    const int32_t *blocks; /* of four channels: two words a pair of taps, then constants */
} glowmcu_depthwise_near_taps;

/* All channels of one pixel, of the window at `in`. */
typedef void (*glowmcu_depthwise_near_window)(const int8_t *in, int8_t *out, const int32_t *blocks,
    const glowmcu_depthwise_near_taps *p);

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_near_taps_rows(
    const glowmcu_depthwise_near_taps *p, const int8_t *in, int8_t *out, int32_t first_row,
    int32_t end_row, glowmcu_depthwise_near_window window)
{
    for (int32_t oy = first_row; oy < end_row; ++oy, in += p->window_row) {
        const int8_t *x = in;
        for (int32_t ox = 0; ox < p->out_width; ++ox, x += p->window_step) {
            window(x, out, p->blocks, p);
            out += p->channels;
        }
    }
}

#if !GLOWMCU_HAS_DSP
/* What the assembly computes. `distances` has two taps for each of `pairs`. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_window(const int8_t *in, int8_t *out,
    const int32_t *w, const glowmcu_depthwise_near_taps *p, const int16_t *distances,
    int32_t pairs, int32_t form, int32_t preshift, int32_t postshift)
{
    const int32_t last = p->channels - 4;

    for (int32_t channel = 0; channel < p->channels; channel += 4) {
        const int32_t c = (channel < last) ? channel : last;
        int32_t sums[4] = {0, 0, 0, 0};
        for (int32_t pair = 0; pair < pairs; ++pair, w += 2) {
            const uint32_t a = glowmcu_load_word(in + distances[2 * pair] + c);
            const uint32_t b = glowmcu_load_word(in + distances[2 * pair + 1] + c);
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

#endif /* GLOWMCU_DEPTHWISE_NEAR_TAPS_DSP_H */

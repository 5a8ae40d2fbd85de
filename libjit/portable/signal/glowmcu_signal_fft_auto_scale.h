/*
 * glowmcu_signal_fft_auto_scale.h: int16 samples shifted left as far as the largest allows.
 */
#ifndef GLOWMCU_SIGNAL_FFT_AUTO_SCALE_H
#define GLOWMCU_SIGNAL_FFT_AUTO_SCALE_H

#include "glowmcu_dsp.h"
#include "glowmcu_signal_bits.h"

typedef struct {
    int32_t count;
} glowmcu_signal_fft_auto_scale;

/*
 * The largest magnitude, which for -32768 is -32768: then what follows it counts alone. The
 * reference has an int16 here, too.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static int32_t glowmcu_signal_largest(const int16_t *in, int32_t count)
{
    int32_t largest = 0;

    for (int32_t i = 0; i < count; ++i) {
        const int32_t x = in[i];

        if (x > largest) {
            largest = x;
        } else if (-x > largest) {
            largest = (x == -32768) ? x : -x;
        } else {
            /* nothing */
        }
    }
    return largest;
}

#if GLOWMCU_HAS_DSP
/* The larger int16 of each pair of halves. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_max_halves(uint32_t x, uint32_t y)
{
    uint32_t result;

    __asm__("ssub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(result) : "r"(x), "r"(y) : "cc");
    return result;
}

/* The smaller int16 of each pair of halves. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_min_halves(uint32_t x, uint32_t y)
{
    uint32_t result;

    __asm__("ssub16 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(result) : "r"(x), "r"(y) : "cc");
    return result;
}

/* The same where no sample is -32768; then the order does not matter. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static int32_t glowmcu_signal_largest_dsp(const int16_t *in, int32_t count)
{
    uint32_t most = 0u;
    uint32_t least = 0u;
    int32_t highest;
    int32_t lowest;

    for (int32_t i = 0; i + 1 < count; i += 2) {
        const uint32_t x = glowmcu_load_word(in + i);

        most = glowmcu_max_halves(most, x);
        least = glowmcu_min_halves(least, x);
    }
    if ((count & 1) != 0) {
        const uint32_t last = (uint32_t)in[count - 1] & 0xFFFFu;

        most = glowmcu_max_halves(most, last);
        least = glowmcu_min_halves(least, last);
    }
    most = glowmcu_max_halves(most, most >> 16);
    least = glowmcu_min_halves(least, least >> 16);
    highest = glowmcu_low_half(most);
    lowest = -glowmcu_low_half(least);
    if (lowest == 32768) {
        return glowmcu_signal_largest(in, count);
    }
    return (highest > lowest) ? highest : lowest;
}
#endif

/* `out` may be `in`. */
GLOWMCU_CODE
static void glowmcu_signal_fft_auto_scale_s16(const glowmcu_signal_fft_auto_scale *p,
    const int16_t *in, int16_t *out, int32_t *bits)
{
    int32_t left = p->count;
#if GLOWMCU_HAS_DSP
    const int32_t largest = glowmcu_signal_largest_dsp(in, left);
#else
    const int32_t largest = glowmcu_signal_largest(in, left);
#endif
    const int32_t shift = (largest > 0) ? 15 - glowmcu_bit_length((uint32_t)largest) : 0;

    *bits = shift;
#if GLOWMCU_HAS_DSP
    for (; left >= 2; left -= 2) {
        const uint32_t x = glowmcu_load_word(in);

        glowmcu_store_word(out, glowmcu_pack_low(x << shift, (x >> 16) << shift));
        in += 2;
        out += 2;
    }
#endif
    for (; left > 0; --left) {
        *out = (int16_t)(uint16_t)(((uint32_t)*in << shift) & 0xFFFFu);
        ++in;
        ++out;
    }
}

#endif /* GLOWMCU_SIGNAL_FFT_AUTO_SCALE_H */

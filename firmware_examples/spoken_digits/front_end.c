/* front_end.c: see front_end.h. */
#include "front_end.h"

static int32_t bit_length(uint64_t value)
{
    int32_t bits = 0;

    for (; value != 0u; value >>= 1) {
        ++bits;
    }
    return bits;
}

/* (a * b + 2^14) / 2^15, rounded down; the sum of two products where given. */
static int32_t scaled(int32_t products)
{
    return (products + (1 << 14)) >> 15;
}

/* Windowed samples in the order that the FFT wants, scaled up as far as 15 bits allow; by 2^result. */
static int32_t load(front_end_work *work, const int16_t *samples)
{
    uint32_t peak = 0;
    int32_t shift;

    for (int32_t i = 0; i < FRONT_END_FRAME; ++i) {
        const int32_t value = scaled(samples[i] * front_end_window[i]);
        const uint32_t size = (uint32_t)((value < 0) ? -value : value);

        peak = (size > peak) ? size : peak;
        work->re[front_end_reverse[i]] = value;
        work->im[i] = 0;
    }
    shift = 15 - bit_length(peak);
    shift = (shift < 0) ? 0 : shift;
    for (int32_t i = 0; i < FRONT_END_FRAME; ++i) {
        work->re[i] *= 1 << shift;
    }
    return shift;
}

/* FFT / FRONT_END_FRAME: radix 2, every stage halves. |values| stay below 2^15, products below 2^30. */
static void transform(front_end_work *work)
{
    for (int32_t half = 1; half < FRONT_END_FRAME; half *= 2) {
        for (int32_t k = 0; k < half; ++k) {
            const int32_t turn = k * (FRONT_END_FRAME / 2 / half);
            const int32_t c = front_end_cos[turn], s = front_end_sin[turn];

            for (int32_t a = k; a < FRONT_END_FRAME; a += 2 * half) {
                const int32_t b = a + half;
                const int32_t x = scaled(work->re[b] * c - work->im[b] * s);
                const int32_t y = scaled(work->re[b] * s + work->im[b] * c);

                work->re[b] = (work->re[a] - x) >> 1;
                work->im[b] = (work->im[a] - y) >> 1;
                work->re[a] = (work->re[a] + x) >> 1;
                work->im[a] = (work->im[a] + y) >> 1;
            }
        }
    }
}

/* 16 * log2(value), the fraction linear in the mantissa. */
static int32_t log2_16(uint64_t value)
{
    const int32_t whole = bit_length(value) - 1;

    return 16 * whole + (int32_t)((value << 4) >> whole) - 16;
}

void front_end(front_end_work *work, const int16_t *samples, int8_t *features)
{
    const int32_t shift = load(work, samples);
    const uint16_t *weight = front_end_weights;

    transform(work);
    for (int32_t band = 0; band < FRONT_END_BANDS; ++band) {
        int32_t bin = front_end_first_bin[band];
        const int32_t end = bin + front_end_bins[band];
        uint64_t energy = 0;
        int32_t value;

        for (; bin < end; ++bin, ++weight) {
            const uint32_t power = (uint32_t)(work->re[bin] * work->re[bin])
                + (uint32_t)(work->im[bin] * work->im[bin]);

            energy += (uint64_t)power * *weight;
        }
        value = log2_16((energy >> FRONT_END_WEIGHT_BITS) + 1u) - 32 * shift - FRONT_END_OFFSET;
        features[band] = (int8_t)((value < -128) ? -128 : (value > 127) ? 127 : value);
    }
}

/*
 * glowmcu_depthwise_copies_dsp.h: int8 depthwise convolution a channel at a time, from a copy of
 * the channel, for the DSP extension. Windows of an odd width, without dilation, stride 1 or 2
 * along rows.
 *
 * The copy has the channel's image as int16, row by row, with the zero points around it that
 * windows reach. Weights are unpacked beside it once a channel: for each row of the window words
 * of two weights, {w0, w1}, {w2, w3}, ... {last, 0}, with stride 1 each followed by the same one
 * weight later, {0, w0}, {w1, w2}, ..., then how far the next row of the copy is; behind the last
 * row what makes int8 of sums. Sums are over x, not x - zero_point; constants account for that.
 *
 * A channel of the image is read before anything of the result is written, so that the result may
 * share the image's bytes where its channels fall on the same ones.
 */
#ifndef GLOWMCU_DEPTHWISE_COPIES_DSP_H
#define GLOWMCU_DEPTHWISE_COPIES_DSP_H

#include "glowmcu_depthwise_forms.h"

typedef struct {
    int32_t out_width; /* the assembly reads the first three members */
    int32_t next;      /* bytes of the copy from behind four windows to the next four */
    int32_t down;      /* from behind a row's windows to the next row's */
    int32_t pitch;     /* elements of a row of the copy */
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t depth_multiplier;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t rounding;   /* 2 * out_zero_point + 1 */
    int32_t shift_bits; /* below the start in a channel's first constant: 5, or none */
    int32_t clamp_min;
    int32_t clamp_max;
    const int8_t *weights;    /* [channel][kernel_height][kernel_width] */
    const int32_t *constants; /* [channel][2], see glowmcu_depthwise_forms.h */
} glowmcu_depthwise_copies;

/* Behind the words of weights: what makes int8 of sums, in the order that the assembly reads. */
enum {
    GLOWMCU_DEPTHWISE_STEP,
    GLOWMCU_DEPTHWISE_SHIFT,
    GLOWMCU_DEPTHWISE_START, /* or the addend */
    GLOWMCU_DEPTHWISE_MULTIPLIER,
    GLOWMCU_DEPTHWISE_PIXEL, /* bytes from a pixel of the result to the next */
    GLOWMCU_DEPTHWISE_LEAST,
    GLOWMCU_DEPTHWISE_MOST,
    GLOWMCU_DEPTHWISE_FINISH_WORDS
};

/* All rows of a channel: results from the copy and the words of weights. */
typedef void (*glowmcu_depthwise_copy_rows)(const int16_t *copy, int8_t *out,
    const uint32_t *words, const glowmcu_depthwise_copies *p, int32_t rows);

/* Words of a row's weights, and how far the next row is. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_copies_row_words(const glowmcu_depthwise_copies *p)
{
    return (p->kernel_width + 1) / 2 * (3 - p->stride_x) + 1;
}

/* The columns of the image that `row` of a channel has in its copy. */
GLOWMCU_CODE
static void glowmcu_depthwise_copy_row(const int8_t *row, int32_t channels, int32_t columns,
    int16_t *copy)
{
    for (; columns >= 4; columns -= 4) {
        const uint32_t first = (uint32_t)(int32_t)row[0];
        const uint32_t second = (uint32_t)(int32_t)row[channels];
        const uint32_t third = (uint32_t)(int32_t)row[2 * channels];
        const uint32_t fourth = (uint32_t)(int32_t)row[3 * channels];
        glowmcu_store_word(copy, glowmcu_pack_low(first, second));
        glowmcu_store_word(copy + 2, glowmcu_pack_low(third, fourth));
        row += 4 * channels;
        copy += 4;
    }
    if ((columns & 2) != 0) {
        const uint32_t first = (uint32_t)(int32_t)row[0];
        const uint32_t second = (uint32_t)(int32_t)row[channels];
        glowmcu_store_word(copy, glowmcu_pack_low(first, second));
        row += 2 * channels;
        copy += 2;
    }
    if ((columns & 1) != 0) {
        *copy = *row;
    }
}

/* A channel's weights as words; those that say how far the next row is are there. */
GLOWMCU_CODE
static void glowmcu_depthwise_copies_unpack(const glowmcu_depthwise_copies *p,
    const int8_t *weights, uint32_t *words)
{
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        uint32_t before = 0;
        for (int32_t kx = 1; kx < p->kernel_width; kx += 2) {
            const uint32_t even = (uint32_t)(int32_t)weights[0];
            const uint32_t odd = (uint32_t)(int32_t)weights[1];
            *words = glowmcu_pack_low(even, odd);
            ++words;
            if (p->stride_x == 1) {
                *words = glowmcu_pack_low(before, even);
                ++words;
                before = odd;
            }
            weights += 2;
        }
        *words = glowmcu_pack_low((uint32_t)(int32_t)*weights, 0u);
        ++words;
        if (p->stride_x == 1) {
            *words = glowmcu_pack_low(before, (uint32_t)(int32_t)*weights);
            ++words;
        }
        ++weights;
        ++words;
    }
}

GLOWMCU_CODE
static void glowmcu_depthwise_copies_finish(const glowmcu_depthwise_copies *p,
    const int32_t *constants, uint32_t *finish)
{
    const int32_t shift = constants[0] & 31;

    finish[GLOWMCU_DEPTHWISE_STEP] = (uint32_t)p->rounding << shift;
    finish[GLOWMCU_DEPTHWISE_SHIFT] = (uint32_t)shift;
    finish[GLOWMCU_DEPTHWISE_START] = (uint32_t)(constants[0] >> p->shift_bits);
    finish[GLOWMCU_DEPTHWISE_MULTIPLIER] = (uint32_t)constants[1];
    finish[GLOWMCU_DEPTHWISE_PIXEL] = (uint32_t)(p->in_channels * p->depth_multiplier);
    finish[GLOWMCU_DEPTHWISE_LEAST] = (uint32_t)p->clamp_min;
    finish[GLOWMCU_DEPTHWISE_MOST] = (uint32_t)p->clamp_max;
}

/* The copy's zero points, and how far its rows are apart. */
GLOWMCU_CODE
static void glowmcu_depthwise_copies_begin(const glowmcu_depthwise_copies *p, uint32_t *words,
    int16_t *copy, int32_t rows)
{
    const int32_t row_words = glowmcu_depthwise_copies_row_words(p);
    const int32_t read = (p->kernel_width + 1) / 2 + ((p->stride_x == 1) ? 1 : 3);

    for (int32_t i = 0; i < rows * p->pitch; ++i) {
        copy[i] = (int16_t)p->in_zero_point;
    }
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        words += row_words;
        words[-1] = (uint32_t)(2 * p->pitch - 4 * read);
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row.
 * Scratch, 4-byte aligned: words of weights and constants, then the copy.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_copies_rows(const glowmcu_depthwise_copies *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row,
    glowmcu_depthwise_copy_rows run)
{
    const int32_t top = first_row * p->stride_y - p->pad_top;
    const int32_t rows = (end_row - first_row - 1) * p->stride_y + p->kernel_height;
    const int32_t above = (top < 0) ? -top : 0;
    const int32_t inside = p->in_height - top - above;
    const int32_t read = (inside < rows - above) ? inside : (rows - above);
    const int32_t seen = p->pitch - p->pad_left;
    const int32_t columns = (p->in_width < seen) ? p->in_width : seen;
    const int32_t in_row = p->in_width * p->in_channels;
    const int8_t *weights = p->weights;
    const int32_t *constants = p->constants;
    uint32_t *const words = (uint32_t *)(void *)scratch;
    uint32_t *const finish = words + p->kernel_height * glowmcu_depthwise_copies_row_words(p);
    int16_t *const copy = (int16_t *)(void *)(finish + GLOWMCU_DEPTHWISE_FINISH_WORDS);

    if (first_row < end_row) {
        glowmcu_depthwise_copies_begin(p, words, copy, rows);
    }
    for (int32_t ic = 0; ic < p->in_channels && first_row < end_row; ++ic) {
        const int8_t *row = in + ic;
        int16_t *to = copy + above * p->pitch + p->pad_left;
        for (int32_t y = 0; y < read; ++y) {
            glowmcu_depthwise_copy_row(row, p->in_channels, columns, to);
            row += in_row;
            to += p->pitch;
        }
        for (int32_t m = 0; m < p->depth_multiplier; ++m) {
            glowmcu_depthwise_copies_unpack(p, weights, words);
            glowmcu_depthwise_copies_finish(p, constants, finish);
            run(copy, out, words, p, end_row - first_row);
            weights += p->kernel_height * p->kernel_width;
            constants += 2;
            ++out;
        }
    }
}

#if !GLOWMCU_HAS_DSP
/* What the assembly computes, from the words that begin at even columns. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_copy(const int16_t *copy, int8_t *out,
    const uint32_t *words, const glowmcu_depthwise_copies *p, int32_t rows, int32_t form,
    int32_t preshift, int32_t postshift)
{
    const int32_t row_words = glowmcu_depthwise_copies_row_words(p);
    const uint32_t *finish = words + p->kernel_height * row_words;
    const uint32_t start = finish[GLOWMCU_DEPTHWISE_START] << p->shift_bits;
    const uint32_t shift = (p->shift_bits > 0) ? finish[GLOWMCU_DEPTHWISE_SHIFT] : 0u;
    const int32_t q[2] = {(int32_t)(start | shift), (int32_t)finish[GLOWMCU_DEPTHWISE_MULTIPLIER]};

    for (int32_t oy = 0; oy < rows; ++oy) {
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            int32_t sum = 0;
            for (int32_t k = 0; k < p->kernel_height * p->kernel_width; ++k) {
                const int32_t ky = k / p->kernel_width;
                const int32_t kx = k % p->kernel_width;
                const uint32_t word = words[ky * row_words + kx / 2 * (3 - p->stride_x)];
                const int32_t weight = (kx % 2 == 0) ? glowmcu_low_half(word)
                                                     : glowmcu_high_half(word);
                const int32_t x = (oy * p->stride_y + ky) * p->pitch + ox * p->stride_x + kx;
                sum = glowmcu_wrapping_add(sum, copy[x] * weight);
            }
            sum = glowmcu_depthwise_finish(sum, q, form, preshift, postshift, p->rounding);
            sum = (sum < p->clamp_min) ? p->clamp_min : sum;
            *out = (int8_t)((sum > p->clamp_max) ? p->clamp_max : sum);
            out += finish[GLOWMCU_DEPTHWISE_PIXEL];
        }
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_COPIES_DSP_H */

/*
 * glowmcu_conv_2d_winograd.h: 3x3 convolution of stride 1 by Winograd's F(2x2, 3x3), exact.
 *
 * Two by two outputs come from four by four inputs d: A' ((G g G') * (B' d B)) A with 16 products a
 * channel in place of 36. With twice the usual G all numbers are integers and results are four
 * times the sums. d are stored values, |B' d B| <= 512; |G g G'| <= 1152: both fit int16.
 */
#ifndef GLOWMCU_CONV_2D_WINOGRAD_H
#define GLOWMCU_CONV_2D_WINOGRAD_H

#include "glowmcu_row_window.h"

/* Outputs of two neighbouring tiles, [tile][row][column][channel]. */
typedef struct {
    int8_t of[2][2][2][4];
} glowmcu_winograd_results;

/*
 * Four output channels of two tiles from `values` [16][steps]{a word of the first tile, of the
 * second} and the stream: weights [16][steps][4 channels], constants. Returns the next group.
 */
typedef const int32_t *(*glowmcu_winograd_group)(const int16_t *values, const int32_t *stream,
    glowmcu_winograd_results *results);

/* Sums of both halves, modulo 2^16. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_add_halves(uint32_t a, uint32_t b)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("sadd16 %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return glowmcu_halves(glowmcu_low_half(a) + glowmcu_low_half(b),
        glowmcu_high_half(a) + glowmcu_high_half(b));
#endif
}

/* Differences of both halves, modulo 2^16. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_subtract_halves(uint32_t a, uint32_t b)
{
#if GLOWMCU_HAS_DSP
    uint32_t result;
    __asm__("ssub16 %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return glowmcu_halves(glowmcu_low_half(a) - glowmcu_low_half(b),
        glowmcu_high_half(a) - glowmcu_high_half(b));
#endif
}

/* One row of B' d B from a row of B' d, to `out` and every `pitch` values behind it. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_winograd_row(uint32_t a, uint32_t b, uint32_t c,
    uint32_t d, int16_t *out, int32_t pitch)
{
    const uint32_t first = glowmcu_subtract_halves(a, c);
    const uint32_t second = glowmcu_add_halves(b, c);
    const uint32_t third = glowmcu_subtract_halves(c, b);
    const uint32_t fourth = glowmcu_subtract_halves(b, d);

    (void)memcpy(out, &first, sizeof first);
    (void)memcpy(out + pitch, &second, sizeof second);
    (void)memcpy(out + 2 * pitch, &third, sizeof third);
    (void)memcpy(out + 3 * pitch, &fourth, sizeof fourth);
}

/*
 * B' d B of a tile, two channels at a time: from rows that are `row` values apart, to every second
 * word of `out`, where the 16 places are `pitch` values apart.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_winograd_tile(const int16_t *in, int32_t row,
    int32_t channels, int16_t *out, int32_t pitch)
{
    const int16_t *second = in + row;
    const int16_t *third = second + row;
    const int16_t *fourth = third + row;

    for (int32_t i = 0; i < channels; i += 2, out += 4) {
        const uint32_t b0 = glowmcu_load_word(second + i);
        const uint32_t b1 = glowmcu_load_word(second + i + channels);
        const uint32_t b2 = glowmcu_load_word(second + i + 2 * channels);
        const uint32_t b3 = glowmcu_load_word(second + i + 3 * channels);
        const uint32_t c0 = glowmcu_load_word(third + i);
        const uint32_t c1 = glowmcu_load_word(third + i + channels);
        const uint32_t c2 = glowmcu_load_word(third + i + 2 * channels);
        const uint32_t c3 = glowmcu_load_word(third + i + 3 * channels);
        glowmcu_winograd_row(glowmcu_add_halves(b0, c0), glowmcu_add_halves(b1, c1),
            glowmcu_add_halves(b2, c2), glowmcu_add_halves(b3, c3), out + 4 * pitch, pitch);
        glowmcu_winograd_row(glowmcu_subtract_halves(c0, b0), glowmcu_subtract_halves(c1, b1),
            glowmcu_subtract_halves(c2, b2), glowmcu_subtract_halves(c3, b3), out + 8 * pitch,
            pitch);
        glowmcu_winograd_row(glowmcu_subtract_halves(glowmcu_load_word(in + i), c0),
            glowmcu_subtract_halves(glowmcu_load_word(in + i + channels), c1),
            glowmcu_subtract_halves(glowmcu_load_word(in + i + 2 * channels), c2),
            glowmcu_subtract_halves(glowmcu_load_word(in + i + 3 * channels), c3), out, pitch);
        glowmcu_winograd_row(glowmcu_subtract_halves(b0, glowmcu_load_word(fourth + i)),
            glowmcu_subtract_halves(b1, glowmcu_load_word(fourth + i + channels)),
            glowmcu_subtract_halves(b2, glowmcu_load_word(fourth + i + 2 * channels)),
            glowmcu_subtract_halves(b3, glowmcu_load_word(fourth + i + 3 * channels)),
            out + 12 * pitch, pitch);
    }
}

/* A row of both tiles' results. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_winograd_store_row(
    const glowmcu_winograd_results *results, int32_t y, int8_t *out, int32_t channels)
{
    const uint32_t a = glowmcu_load_word(results->of[0][y][0]);
    const uint32_t b = glowmcu_load_word(results->of[0][y][1]);
    const uint32_t c = glowmcu_load_word(results->of[1][y][0]);
    const uint32_t d = glowmcu_load_word(results->of[1][y][1]);

    (void)memcpy(out, &a, sizeof a);
    (void)memcpy(out + channels, &b, sizeof b);
    (void)memcpy(out + 2 * channels, &c, sizeof c);
    (void)memcpy(out + 3 * channels, &d, sizeof d);
}

/* The results that are in the output: `rows` of them, `columns` of both tiles' four. */
GLOWMCU_CODE
static void glowmcu_winograd_store(const glowmcu_winograd_results *results, int8_t *out,
    int32_t out_row, int32_t channels, int32_t rows, int32_t columns)
{
    if (rows == 2 && columns == 4) {
        glowmcu_winograd_store_row(results, 0, out, channels);
        glowmcu_winograd_store_row(results, 1, out + out_row, channels);
        return;
    }
    for (int32_t y = 0; y < rows; ++y, out += out_row) {
        for (int32_t x = 0; x < columns; ++x) {
            (void)memcpy(out + x * channels, results->of[x / 2][y][x % 2], 4);
        }
    }
}

/* All channels of two tiles. Those beyond a multiple of four share a group with others. */
GLOWMCU_CODE
static void glowmcu_winograd_tiles(const glowmcu_conv_2d_rows *p, glowmcu_winograd_group group,
    const int16_t *values, int8_t *out, int32_t rows, int32_t columns)
{
    const int32_t *stream = p->stream;

    for (int32_t channel = 0; channel < p->out_channels; channel += 4) {
        const int32_t last = p->out_channels - 4;
        glowmcu_winograd_results results;
        stream = group(values, stream, &results);
        glowmcu_winograd_store(&results, out + ((channel < last) ? channel : last),
            p->out_width * p->out_channels, p->out_channels, rows, columns);
    }
}

#if GLOWMCU_HAS_DSP
/*
 * Registers: r0 values, r1 stream, r2 r3 a word of either tile, r4 r5 weights, the rest sums: r6 to
 * r9 of the first tile, r10 to lr of the second. Sums of the 16 places are pushed: place p, tile t,
 * channel c are at (15 - p) * 32 + t * 16 + c * 4 from the stack pointer; 512 is the results.
 */
#define GLOWMCU_WINOGRAD_ENTER "push {r2, r4-r11, lr}\n"

#define GLOWMCU_WINOGRAD_STEP(first, second, w0, w1, w2, w3) \
    "ldr r2, [r0, #" #first "]\n\t"                          \
    "ldr r3, [r0, #" #second "]\n\t"                         \
    "ldr r4, [r1, #" #w0 "]\n\t"                             \
    "ldr r5, [r1, #" #w1 "]\n\t"                             \
    "smlad r6, r2, r4, r6\n\t"                               \
    "smlad r10, r3, r4, r10\n\t"                             \
    "smlad r7, r2, r5, r7\n\t"                               \
    "smlad r11, r3, r5, r11\n\t"                             \
    "ldr r4, [r1, #" #w2 "]\n\t"                             \
    "ldr r5, [r1, #" #w3 "]\n\t"                             \
    "smlad r8, r2, r4, r8\n\t"                               \
    "smlad r12, r3, r4, r12\n\t"                             \
    "smlad r9, r2, r5, r9\n\t"                               \
    "smlad lr, r3, r5, lr\n\t"

#define GLOWMCU_WINOGRAD_FIRST(w0, w1, w2, w3) \
    "1:\n\t"                                   \
    "ldr r2, [r0]\n\t"                         \
    "ldr r3, [r0, #4]\n\t"                     \
    "ldr r4, [r1, #" #w0 "]\n\t"               \
    "ldr r5, [r1, #" #w1 "]\n\t"               \
    "smuad r6, r2, r4\n\t"                     \
    "smuad r10, r3, r4\n\t"                    \
    "smuad r7, r2, r5\n\t"                     \
    "smuad r11, r3, r5\n\t"                    \
    "ldr r4, [r1, #" #w2 "]\n\t"               \
    "ldr r5, [r1, #" #w3 "]\n\t"               \
    "smuad r8, r2, r4\n\t"                     \
    "smuad r12, r3, r4\n\t"                    \
    "smuad r9, r2, r5\n\t"                     \
    "smuad lr, r3, r5\n\t"

/* To the next place; the stream tells which is the last. */
#define GLOWMCU_WINOGRAD_PLACE(values_bytes, weights_bytes) \
    "push {r6-r12, lr}\n\t"                                 \
    "add r0, #" #values_bytes "\n\t"                        \
    "ldr r2, [r1, #" #weights_bytes "]\n\t"                 \
    "add r1, #" #weights_bytes "\n\t"                       \
    "adds r1, #4\n\t"                                       \
    "cmp r2, #0\n\t"                                        \
    "bne 1b\n\t"                                            \
    "mov r0, sp\n"                                          \
    "2:\n\t"

/* A column of A' M: its two rows in `a` and `b`. Offsets are those of the four places. */
#define GLOWMCU_WINOGRAD_COLUMN(a, b, m0, m1, m2, m3) \
    "ldr " #a ", [r0, #" #m0 "]\n\t"                  \
    "ldr " #b ", [r0, #" #m1 "]\n\t"                  \
    "ldr r10, [r0, #" #m2 "]\n\t"                     \
    "ldr r11, [r0, #" #m3 "]\n\t"                     \
    "add " #a ", " #a ", " #b "\n\t"                  \
    "sub " #b ", " #b ", r10\n\t"                     \
    "add " #a ", " #a ", r10\n\t"                     \
    "sub " #b ", " #b ", r11\n\t"

/* A row of A' M A: both columns in `a` and `b`. */
#define GLOWMCU_WINOGRAD_OUTPUTS(a, b, c, d) \
    "add " #a ", " #a ", " #b "\n\t"         \
    "sub " #b ", " #b ", " #c "\n\t"         \
    "add " #a ", " #a ", " #c "\n\t"         \
    "sub " #b ", " #b ", " #d "\n\t"

/* Four outputs of a channel in one tile: r2 r4 above r3 r5. */
#define GLOWMCU_WINOGRAD_TILE(                          \
    m00, m10, m20, m30, m01, m11, m21, m31,             \
    m02, m12, m22, m32, m03, m13, m23, m33)             \
    GLOWMCU_WINOGRAD_COLUMN(r2, r3, m00, m10, m20, m30) \
    GLOWMCU_WINOGRAD_COLUMN(r4, r5, m01, m11, m21, m31) \
    GLOWMCU_WINOGRAD_COLUMN(r6, r7, m02, m12, m22, m32) \
    GLOWMCU_WINOGRAD_COLUMN(r8, r9, m03, m13, m23, m33) \
    GLOWMCU_WINOGRAD_OUTPUTS(r2, r4, r6, r8)            \
    GLOWMCU_WINOGRAD_OUTPUTS(r3, r5, r7, r9)

#define GLOWMCU_WINOGRAD_FIRST_TILE                                                              \
    GLOWMCU_WINOGRAD_TILE(480, 352, 224, 96, 448, 320, 192, 64, 416, 288, 160, 32, 384, 256, 128, \
        0)
#define GLOWMCU_WINOGRAD_SECOND_TILE                                                              \
    GLOWMCU_WINOGRAD_TILE(496, 368, 240, 112, 464, 336, 208, 80, 432, 304, 176, 48, 400, 272, 144, \
        16)

/* Constants r6 addend, r7 multiplier, r8 step. Sums are times 4, the form's preshift is 8. */
#define GLOWMCU_WINOGRAD_FLOOR(a, shift)       \
    "add " #a ", r6, " #a ", lsl #6\n\t"       \
    "smmul " #a ", " #a ", r7\n\t"             \
    "ssat " #a ", #8, " #a ", asr #" #shift "\n\t"

#define GLOWMCU_WINOGRAD_TWO_SIDED(a, shift)   \
    "and r9, r8, " #a ", asr #31\n\t"          \
    "add " #a ", r6, " #a ", lsl #6\n\t"       \
    "smmla " #a ", " #a ", r7, r9\n\t"         \
    "ssat " #a ", #8, " #a ", asr #" #shift "\n\t"

/* Constants r6 multiplier, r7 step, r8 shift. */
#define GLOWMCU_WINOGRAD_LITERAL(a)        \
    "add r9, r7, " #a ", asr #31\n\t"      \
    "asr " #a ", " #a ", #1\n\t"           \
    "smmlar " #a ", " #a ", r6, r9\n\t"    \
    "asr " #a ", " #a ", r8\n\t"           \
    "ssat " #a ", #8, " #a "\n\t"

/* r12 is four times what sums start from. */
#define GLOWMCU_WINOGRAD_STARTED \
    "add r2, r12\n\t"            \
    "add r3, r12\n\t"            \
    "add r4, r12\n\t"            \
    "add r5, r12\n\t"

/* A channel's results of one tile. */
#define GLOWMCU_WINOGRAD_STORE(at0, at1, at2, at3) \
    "ldr r10, [sp, #512]\n\t"                      \
    "strb r2, [r10, #" #at0 "]\n\t"                \
    "strb r4, [r10, #" #at1 "]\n\t"                \
    "strb r3, [r10, #" #at2 "]\n\t"                \
    "strb r5, [r10, #" #at3 "]\n\t"

/* To the next channel; after the fourth back with the next group. */
#define GLOWMCU_WINOGRAD_LEAVE(constants_bytes) \
    "adds r1, #" #constants_bytes "\n\t"        \
    "add r10, #1\n\t"                           \
    "str r10, [sp, #512]\n\t"                   \
    "adds r0, #4\n\t"                           \
    "mov r2, sp\n\t"                            \
    "subs r2, r0, r2\n\t"                       \
    "cmp r2, #16\n\t"                           \
    "bne 2b\n\t"                                \
    "mov r0, r1\n\t"                            \
    "add sp, #512\n\t"                          \
    "pop {r2, r4-r11, pc}\n\t"

#else /* the same in C */

/* A' m A of 16 numbers. */
GLOWMCU_CODE
static inline void glowmcu_winograd_outputs(const int32_t m[16], int32_t y[4])
{
    uint32_t s[2][4];
    for (int32_t i = 0; i < 4; ++i) {
        const uint32_t a = (uint32_t)m[i], b = (uint32_t)m[4 + i];
        const uint32_t c = (uint32_t)m[8 + i], d = (uint32_t)m[12 + i];
        s[0][i] = a + b + c;
        s[1][i] = b - c - d;
    }
    for (int32_t i = 0; i < 2; ++i) {
        y[2 * i] = (int32_t)(s[i][0] + s[i][1] + s[i][2]);
        y[2 * i + 1] = (int32_t)(s[i][1] - s[i][2] - s[i][3]);
    }
}

/* `value` is four times the form's v (or raw, for a form without a start), `c` as in the stream. */
GLOWMCU_CODE
static inline int8_t glowmcu_winograd_requantize(int32_t form, int32_t shift, const int32_t *c,
    int32_t value)
{
    const int32_t sign = glowmcu_sign(value);

    if (form == GLOWMCU_FORM_LITERAL) {
        const int32_t step = glowmcu_wrapping_add(c[1], sign);
        return (int8_t)glowmcu_saturate_s8(glowmcu_smmlar(value >> 1, c[0], step) >> c[2]);
    }
    const int32_t factor = (int32_t)((uint32_t)c[0] + ((uint32_t)value << 6));
    const int32_t step = (form == GLOWMCU_FORM_FLOOR) ? 0 : (c[2] & sign);
    return (int8_t)glowmcu_saturate_s8(glowmcu_smmla(factor, c[1], step) >> shift);
}

GLOWMCU_CODE
static inline const int32_t *glowmcu_winograd_portable(const int16_t *values, const int32_t *stream,
    glowmcu_winograd_results *results, int32_t steps, int32_t form, int32_t shift)
{
    int32_t sums[2][4][16];

    for (int32_t place = 0; place < 16; ++place) {
        for (int32_t tile = 0; tile < 2; ++tile) {
            for (int32_t channel = 0; channel < 4; ++channel) {
                int32_t sum = 0;
                for (int32_t i = 0; i < steps; ++i) {
                    const int16_t *two = values + ((place * steps + i) * 2 + tile) * 2;
                    const uint32_t weights = (uint32_t)stream[4 * i + channel];
                    sum = glowmcu_smlad(glowmcu_load_word(two), weights, sum);
                }
                sums[tile][channel][place] = sum;
            }
        }
        stream += 4 * steps + 1;
    }
    for (int32_t channel = 0; channel < 4; ++channel) {
        const int32_t start = (form == GLOWMCU_FORM_FLOOR) ? 0 : *stream++;
        for (int32_t tile = 0; tile < 2; ++tile) {
            int32_t y[4];
            glowmcu_winograd_outputs(sums[tile][channel], y);
            for (int32_t i = 0; i < 4; ++i) {
                results->of[tile][i / 2][i % 2][channel] = glowmcu_winograd_requantize(
                    form, shift, stream, glowmcu_wrapping_add(y[i], start));
            }
        }
        stream += (form == GLOWMCU_FORM_FLOOR) ? 2 : 3;
    }
    return stream;
}
#endif

#endif /* GLOWMCU_CONV_2D_WINOGRAD_H */

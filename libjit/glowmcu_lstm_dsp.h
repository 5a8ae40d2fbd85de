/*
 * glowmcu_lstm_dsp.h: LSTM on int8 with int8 weights and a cell state of int16, two units at a
 * time: the products in front of all gates are rows of one packed matrix of x, and of another of
 * the hidden state.
 *
 * The stream of each is that of glowmcu_dense_stream.h, in parts of up to GLOWMCU_LSTM_BLOCKS
 * blocks that each end with a place of 0. A block of eight channels is the input gates of two
 * units, their forget, cell and output gates; what it makes are eight int16.
 */
#ifndef GLOWMCU_LSTM_DSP_H
#define GLOWMCU_LSTM_DSP_H

#include "glowmcu_dense_stream.h"
#include "glowmcu_lstm_cell.h"

/* What is on the stack at a time: eight int16 for each. */
#define GLOWMCU_LSTM_BLOCKS 8

/* Products with a part of one matrix. */
typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *stream;
    int32_t first_round; /* bytes from `in` to where a block's first round reads, were it whole */
    int32_t end_round;   /* and to where its last one ends */
    int32_t entry;       /* bytes of code to where the first round is entered, and 1 for Thumb */
    int32_t jump;        /* bytes by which the stream pointer is behind then */
    const int32_t *scales; /* a gate: multiplier, shift left + 1; or multiplier, half, shift */
    int32_t depth;
    int32_t part_words; /* from a part of the stream to the next */
} glowmcu_lstm_products;

/* Times multiplier * 2^(-shift - 31); `step` is half of what is dropped, and an offset. */
typedef struct {
    int32_t multiplier;
    int32_t step;
    int32_t shift; /* in [1, 30] */
} glowmcu_lstm_right;

typedef struct {
    glowmcu_lstm_products input;
    glowmcu_lstm_products past;
    glowmcu_lstm_shape shape;
    glowmcu_lstm_right added;  /* input gate times what is new, to the cell state */
    glowmcu_lstm_right result; /* output gate times tanh of the cell state, with the zero point */
    glowmcu_sigmoid_scale cell; /* the cell state in steps of the table */
    int32_t cell_min;
    int32_t cell_max;
    const uint32_t *sigmoid; /* [256]: sigmoid(i / 24) - 1/2, and above it that of i + 1 */
} glowmcu_lstm_paired;

/* Adds to the `gates` of a part; `rest`: the last depth % 4 inputs, lowest first. */
typedef void (*glowmcu_lstm_row)(const glowmcu_lstm_products *p, const int8_t *in, int16_t *gates,
    uint32_t rest);

/* x clamped to int16. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_short_of(int32_t x)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("ssat %0, #16, %1" : "=r"(result) : "r"(x));
    return result;
#else
    return (x < -32768) ? -32768 : ((x > 32767) ? 32767 : x);
#endif
}

/* x >= 0, at most 65535. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_table_end(int32_t x)
{
#if GLOWMCU_HAS_DSP
    int32_t result;
    __asm__("usat %0, #16, %1" : "=r"(result) : "r"(x));
    return result;
#else
    return (x > 65535) ? 65535 : x;
#endif
}

#if !GLOWMCU_HAS_DSP
/* A sum to int16, and the gate's constants, behind which the next gate's are. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_short(int32_t sum, const int32_t *scale, int32_t left)
{
    int32_t x;

    if (left != 0) {
        return glowmcu_lstm_short_of(
            glowmcu_smmlar((int32_t)((uint32_t)sum << scale[1]), scale[0], 0));
    }
    x = glowmcu_smmlar((int32_t)((uint32_t)sum << 1), scale[0], scale[1]);
    return glowmcu_lstm_short_of(glowmcu_wrapping_add(x, sum >> 31) >> scale[2]);
}

/* Bit g of `left`: gate g shifts to the left. */
GLOWMCU_CODE
static inline void glowmcu_lstm_row_portable(const glowmcu_lstm_products *p, const int8_t *in,
    int16_t *gates, uint32_t rest, int32_t wide, uint32_t left)
{
    const glowmcu_dense_shape shape = {8, GLOWMCU_FORM_LITERAL, 0, wide};
    const int32_t *w = p->stream;

    int16_t *out;

    do {
        const int32_t *scale = p->scales;
        int32_t sums[8];

        w = glowmcu_dense_start(&shape, w, sums);
        for (int32_t i = (p->depth % 4 != 0) ? -4 : 0; i + 4 <= p->depth; i += 4) {
            const uint32_t four = (i < 0) ? rest : glowmcu_load_word(in + i);
            const uint32_t words[2] = {glowmcu_sxtb16(four), glowmcu_sxtb16_ror8(four)};
            w = glowmcu_dense_add(&shape, words, 1, 2, w, sums);
        }
        out = gates + w[0] / 2;
        ++w;
        for (uint32_t gate = 0; gate < 4u; ++gate) {
            const int32_t is_left = (int32_t)((left >> gate) & 1u);
            const int32_t low = sums[2u * gate + 1u];
            int32_t high = sums[2u * gate];
            if (wide == 0) {
                high = (int32_t)((uint32_t)high - (uint32_t)low) >> 8;
            }
            out[2u * gate] = (int16_t)glowmcu_lstm_short_of(
                out[2u * gate] + glowmcu_lstm_short(high, scale, is_left));
            out[2u * gate + 1u] = (int16_t)glowmcu_lstm_short_of(
                out[2u * gate + 1u] + glowmcu_lstm_short(low, scale, is_left));
            scale += (is_left != 0) ? 2 : 3;
        }
    } while (out != gates);
}
#endif

/* sigmoid - 1/2 at `steps`, in Q0.(16 + bits); of negative ones the complement of its size. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_between(const uint32_t *table, int32_t steps,
    int32_t bits)
{
    const int32_t sign = steps >> 31;
    const int32_t one = (int32_t)1 << bits;
    int32_t magnitude = (steps ^ sign) - sign;
    int32_t between;

    if (bits == 8) {
        magnitude = glowmcu_lstm_table_end(magnitude);
    }
    between = magnitude & (one - 1);
    return glowmcu_smuad(table[magnitude >> bits], glowmcu_halves(one - between, between)) ^ sign;
}

/* Q0.15 from Q3.12, whose steps stay within the table. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_logistic(const uint32_t *table, int32_t x)
{
    return (glowmcu_lstm_between(table, 3 * x, 9) + (1 << 24) + (1 << 9)) >> 10;
}

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_tanh(const uint32_t *table, int32_t steps)
{
    return (glowmcu_lstm_between(table, steps, 8) + (1 << 7)) >> 8;
}

/* A product of int16. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_rescaled(const glowmcu_lstm_right *p, int32_t x)
{
    return (glowmcu_smmlar(x * 2, p->multiplier, p->step) + (x >> 31)) >> p->shift;
}

/* The hidden state of a unit after a step; `gates` are two apart. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_lstm_paired_unit(const glowmcu_lstm_paired *p,
    const int16_t *gates, int32_t before, int16_t *after)
{
    const uint32_t *table = p->sigmoid;
    const int32_t kept = glowmcu_lstm_logistic(table, gates[2]) * before;
    const int32_t added = glowmcu_lstm_logistic(table, gates[0])
        * glowmcu_lstm_tanh(table, 3 * gates[4]);
    const int32_t half = (int32_t)1 << p->cell.shift >> 1;
    int32_t cell;

    /* The forget gate's scale is 2^-15: (((kept + 1) >> 1) + 8192, less 1 below 0) >> 14. */
    cell = (kept + 16385 + (kept >> 31) * 2) >> 15;
    cell += glowmcu_lstm_short_of(glowmcu_lstm_rescaled(&p->added, added));
    cell = glowmcu_lstm_short_of(cell);
    cell = (cell < p->cell_min) ? p->cell_min : cell;
    cell = (cell > p->cell_max) ? p->cell_max : cell;
    *after = (int16_t)cell;
    cell = glowmcu_lstm_tanh(table, (cell * p->cell.multiplier + half) >> p->cell.shift);
    cell *= glowmcu_lstm_logistic(table, gates[6]);
    return glowmcu_saturate_s8(glowmcu_lstm_rescaled(&p->result, cell));
}

/* The units of a part after a step. */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static void glowmcu_lstm_units(const glowmcu_lstm_paired *p,
    const int16_t *gates, int32_t count, const int16_t *before, int16_t *after, int8_t *out)
{
    for (int32_t parity = 0; parity < 2; ++parity) {
        const int16_t *from = gates + parity;

        for (int32_t unit = parity; unit < count; unit += 2) {
            out[unit] = (int8_t)glowmcu_lstm_paired_unit(p, from, before[unit], after + unit);
            from += 8;
        }
    }
}

/* The last inputs that fill no word, lowest first. */
GLOWMCU_CODE
static inline uint32_t glowmcu_lstm_rest(const int8_t *in, int32_t depth)
{
    uint32_t rest = 0;

    for (int32_t i = 1; i <= depth % 4; ++i) {
        rest = (rest << 8) | (uint8_t)in[depth - i];
    }
    return rest;
}

/* A step of one batch item: all that is read of `hidden` and `before` is as the last step left. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_lstm_paired_step(const glowmcu_lstm_paired *p,
    glowmcu_lstm_row input, glowmcu_lstm_row past, const int8_t *x, const int8_t *hidden,
    const int16_t *before, int16_t *after, int8_t *out)
{
    const uint32_t x_rest = glowmcu_lstm_rest(x, p->input.depth);
    const uint32_t hidden_rest = glowmcu_lstm_rest(hidden, p->past.depth);
    glowmcu_lstm_products now = p->input;
    glowmcu_lstm_products last = p->past;

    for (int32_t unit = 0; unit < p->shape.units; unit += 2 * GLOWMCU_LSTM_BLOCKS) {
        int16_t gates[8 * GLOWMCU_LSTM_BLOCKS];
        int32_t count = p->shape.units - unit;

        count = (count < 2 * GLOWMCU_LSTM_BLOCKS) ? count : 2 * GLOWMCU_LSTM_BLOCKS;
        (void)memset(gates, 0, (size_t)((count + 1) / 2) * 8u * sizeof gates[0]);
        input(&now, x, gates, x_rest);
        past(&last, hidden, gates, hidden_rest);
        glowmcu_lstm_units(p, gates, count, before + unit, after + unit, out + unit);
        now.stream += now.part_words;
        last.stream += last.part_words;
    }
}

/*
 * x is [batches][steps][depth], out [batches][steps][units], or with steps first; states are
 * [batches][units], and the new ones may be where the old ones are. The results of a step are the
 * hidden state that the next one reads.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_lstm_steps(const glowmcu_lstm_paired *p,
    glowmcu_lstm_row input, glowmcu_lstm_row past, const int8_t *x, const int8_t *hidden,
    const int16_t *cell, int8_t *out, int8_t *hidden_after, int16_t *cell_after)
{
    const int32_t units = p->shape.units;

    for (int32_t batch = 0; batch < p->shape.batches; ++batch) {
        const int8_t *now = x + batch * p->shape.x_batch;
        const int8_t *last = hidden + batch * units;
        const int16_t *before = cell + batch * units;
        int16_t *after = cell_after + batch * units;
        int8_t *result = out + batch * p->shape.out_batch;

        for (int32_t step = 0; step < p->shape.steps; ++step) {
            glowmcu_lstm_paired_step(p, input, past, now, last, before, after, result);
            before = after;
            last = result;
            now += p->shape.x_step;
            result += p->shape.out_step;
        }
        (void)memcpy(hidden_after + batch * units, last, (size_t)units);
    }
}

#endif /* GLOWMCU_LSTM_DSP_H */

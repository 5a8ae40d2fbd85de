/*
 * glowmcu_lstm_dsp.h: LSTM on int8 with int8 weights and a cell state of int16, two units at a
 * time: a step is one function of assembly, which a template makes.
 *
 * The stream has for each two units a block of eight channels of x, then one of the hidden state,
 * see glowmcu_dense_stream.h: the units' input gates, their forget, cell and output gates. The word
 * behind a block is 0 for x; of the hidden state it is 1, and -1 at the end.
 *
 * sigmoid is a line between entries of its table, line(t) = intercept + slope * t modulo 2^32 for
 * each of 512 stretches of t = 512 n: rounded sigmoid(t / 12288) in Q0.31, of which the high half
 * is the result. Of 2 * line(2 * t) - 0x80008000 it is tanh(t / 12288).
 */
#ifndef GLOWMCU_LSTM_DSP_H
#define GLOWMCU_LSTM_DSP_H

#include "glowmcu_dense_stream.h"
#include "glowmcu_lstm_cell.h"

/* How a block goes through its inputs. */
typedef struct {
    int32_t first_round; /* bytes from the inputs to where the first round reads, were it whole */
    int32_t end_round;   /* and to where the last one ends */
    int32_t entry;       /* bytes of code to where the first round is entered, and 1 for Thumb */
    int32_t jump;        /* bytes by which the stream pointer is behind then */
} glowmcu_lstm_walk;

/* Times multiplier * 2^(-shift - 31), `shift` in the code; `step` is half of what is dropped. */
typedef struct {
    int32_t multiplier;
    int32_t step; /* and an offset */
} glowmcu_lstm_right;

typedef struct {
    /* In the order that the assembly loads. */
    const int32_t *stream;
    glowmcu_lstm_walk input;
    glowmcu_lstm_walk past;
    const int32_t *scales;      /* of x, then the hidden state, a gate: multiplier, and half of what
                                   a shift to the right drops */
    const uint32_t *intercepts; /* [512] */
    const int16_t *slopes;      /* [512], modulo 2^16 */
    glowmcu_lstm_right added;   /* input gate times what is new, to the cell state */
    glowmcu_lstm_right result;  /* output gate times tanh of the cell state, with the zero point */
    int32_t room;               /* between the cell state's bound and 32767, in both halves */
    glowmcu_lstm_shape shape;
} glowmcu_lstm_paired;

/* What a step works on; each `rest` the last inputs that fill no word, lowest first. */
typedef struct {
    /* In the order that the assembly loads. */
    const int8_t *x;
    uint32_t x_rest;
    const int8_t *hidden;
    uint32_t hidden_rest;
    int16_t *cell; /* updated */
    int8_t *out;   /* the hidden state after the step */
} glowmcu_lstm_places;

typedef void (*glowmcu_lstm_paired_step)(
    const glowmcu_lstm_paired *p, const glowmcu_lstm_places *at);

#if !GLOWMCU_HAS_DSP
/* What is part of the assembly's code. */
typedef struct {
    int8_t gates[8]; /* of x, then of the hidden state; to the left where positive */
    int8_t added;    /* to the right */
    int8_t result;
    int8_t cell; /* in front of tanh, to the left */
    int8_t wide;
    int8_t clips;
} glowmcu_lstm_shifts;

GLOWMCU_CODE
static inline int32_t glowmcu_lstm_short_of(int32_t x)
{
    return glowmcu_clamp(x, -32768, 32767);
}

/* The sums of eight channels; returns what follows their block. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_lstm_sums(const int32_t *w, int32_t wide, const int8_t *in,
    int32_t depth, uint32_t rest, int32_t sums[8])
{
    const glowmcu_dense_shape shape = {8, GLOWMCU_FORM_LITERAL, 0, wide};

    w = glowmcu_dense_start(&shape, w, sums);
    for (int32_t i = (depth % 4 != 0) ? -4 : 0; i + 4 <= depth; i += 4) {
        const uint32_t four = (i < 0) ? rest : glowmcu_load_word(in + i);
        const uint32_t words[2] = {glowmcu_sxtb16(four), glowmcu_sxtb16_ror8(four)};
        w = glowmcu_dense_add(&shape, words, 1, 2, w, sums);
    }
    for (int32_t i = 0; wide == 0 && i < 8; i += 2) {
        sums[i] = (int32_t)((uint32_t)sums[i] - (uint32_t)sums[i + 1]) >> 8;
    }
    return w + 1;
}

/* A gate's sums of two units, added to `gates`; returns the next gate's constants. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_lstm_add(const int32_t sums[2], const int32_t *scale,
    int32_t left, int16_t gates[2])
{
    for (int32_t i = 0; i < 2; ++i) {
        int32_t x;

        if (left >= 0) {
            x = glowmcu_smmlar((int32_t)((uint32_t)sums[i] << (left + 1)), scale[0], 0);
        } else {
            x = glowmcu_smmlar((int32_t)((uint32_t)sums[i] << 1), scale[0], scale[1]);
            x = glowmcu_wrapping_add(x, glowmcu_sign(sums[i])) >> -left;
        }
        gates[i] = (int16_t)glowmcu_lstm_short_of(gates[i] + glowmcu_lstm_short_of(x));
    }
    return scale + ((left >= 0) ? 1 : 2);
}

GLOWMCU_CODE
static inline uint32_t glowmcu_lstm_line(const glowmcu_lstm_paired *p, int32_t t)
{
    const int32_t at = 256 + (t >> 9);

    return p->intercepts[at] + (uint32_t)(uint16_t)p->slopes[at] * (uint32_t)t;
}

/* Q0.15 from Q3.12, whose steps stay within the table. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_logistic(const glowmcu_lstm_paired *p, int32_t x)
{
    return (int32_t)glowmcu_lstm_line(p, 3 * x) >> 16;
}

GLOWMCU_CODE
static inline int32_t glowmcu_lstm_tanh(const glowmcu_lstm_paired *p, int32_t steps)
{
    const int32_t t = glowmcu_clamp(steps, -65536, 65535) * 2;

    return (int32_t)(2u * glowmcu_lstm_line(p, t) - 0x80008000u) >> 16;
}

/* A product of int16. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_rescaled(const glowmcu_lstm_right *p, int32_t shift, int32_t x)
{
    return (glowmcu_smmlar(x * 2, p->multiplier, p->step) + glowmcu_sign(x)) >> shift;
}

/* The hidden state of a unit after a step; `gates` are two apart. */
GLOWMCU_CODE
static inline int32_t glowmcu_lstm_paired_unit(const glowmcu_lstm_paired *p,
    const glowmcu_lstm_shifts *k, const int16_t *gates, int16_t *state)
{
    const int32_t kept = glowmcu_lstm_logistic(p, gates[2]) * *state;
    const int32_t added = glowmcu_lstm_logistic(p, gates[0]) * glowmcu_lstm_tanh(p, 3 * gates[4]);
    int32_t cell;
    int32_t shown;

    /* The forget gate's scale is 2^-15: (((kept + 1) >> 1) + 8192, less 1 below 0) >> 14. */
    cell = (kept + 16385 + glowmcu_sign(kept) * 2) >> 15;
    cell += glowmcu_lstm_short_of(glowmcu_lstm_rescaled(&p->added, k->added, added));
    cell = glowmcu_lstm_short_of(cell);
    if (k->clips != 0) {
        const int32_t bound = 32767 - (p->room & 0x7FFF);
        cell = glowmcu_clamp(cell, -bound, bound);
    }
    *state = (int16_t)cell;
    if (k->cell >= 0) {
        shown = glowmcu_lstm_tanh(p, 3 * cell * ((int32_t)1 << k->cell));
    } else {
        const int32_t half = (int32_t)(((uint32_t)1 << -k->cell) >> 1);
        shown = glowmcu_lstm_tanh(p, (3 * cell + half) >> -k->cell);
    }
    shown *= glowmcu_lstm_logistic(p, gates[6]);
    return glowmcu_saturate_s8(glowmcu_lstm_rescaled(&p->result, k->result, shown));
}

/* What the assembly does. */
GLOWMCU_CODE
static inline void glowmcu_lstm_step_portable(const glowmcu_lstm_paired *p,
    const glowmcu_lstm_places *at, const glowmcu_lstm_shifts *k)
{
    const int32_t units = p->shape.units;
    const int8_t *const in[2] = {at->x, at->hidden};
    const uint32_t rest[2] = {at->x_rest, at->hidden_rest};
    const int32_t depth[2] = {p->shape.depth, units};
    const int32_t *w = p->stream;
    int16_t *const cell = at->cell;

    for (int32_t unit = 0; unit < units; unit += 2) {
        const int32_t *scale = p->scales;
        int16_t gates[8] = {0, 0, 0, 0, 0, 0, 0, 0};

        for (int32_t operand = 0; operand < 2; ++operand) {
            int32_t sums[8];

            w = glowmcu_lstm_sums(w, k->wide, in[operand], depth[operand], rest[operand], sums);
            for (int32_t gate = 0; gate < 4; ++gate) {
                scale = glowmcu_lstm_add(sums + 2 * gate, scale, k->gates[4 * operand + gate],
                    gates + 2 * gate);
            }
        }
        for (int32_t i = 0; i < 2 && unit + i < units; ++i) {
            at->out[unit + i] =
                (int8_t)glowmcu_lstm_paired_unit(p, k, gates + i, cell + unit + i);
        }
    }
}
#endif

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

/*
 * x is [batches][steps][depth], out [batches][steps][units], or with steps first; states are
 * [batches][units], and the new ones may be where the old ones are. The results of a step are the
 * hidden state that the next one reads.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_lstm_steps(const glowmcu_lstm_paired *p,
    glowmcu_lstm_paired_step step, const int8_t *x, const int8_t *hidden, const int16_t *cell,
    int8_t *out, int8_t *hidden_after, int16_t *cell_after)
{
    const int32_t units = p->shape.units;

    if (cell_after != cell) {
        (void)memcpy(cell_after, cell, (size_t)(p->shape.batches * units) * sizeof *cell);
    }
    for (int32_t batch = 0; batch < p->shape.batches; ++batch) {
        const int8_t *now = x + batch * p->shape.x_batch;
        const int8_t *last = hidden + batch * units;
        int8_t *result = out + batch * p->shape.out_batch;

        for (int32_t i = 0; i < p->shape.steps; ++i) {
            const glowmcu_lstm_places at = {
                now, glowmcu_lstm_rest(now, p->shape.depth), last, glowmcu_lstm_rest(last, units),
                cell_after + batch * units, result
            };

            step(p, &at);
            last = result;
            now += p->shape.x_step;
            result += p->shape.out_step;
        }
        (void)memcpy(hidden_after + batch * units, last, (size_t)units);
    }
}

#endif /* GLOWMCU_LSTM_DSP_H */

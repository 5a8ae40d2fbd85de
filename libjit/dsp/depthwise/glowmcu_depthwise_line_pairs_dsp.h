/*
 * glowmcu_depthwise_line_pairs_dsp.h: int8 depthwise 3x3 convolution for the DSP extension, stride
 * 1, two lines of outputs at a time.
 *
 * Words, bands and weights are those of glowmcu_depthwise_words.h. Of an odd number of lines
 * the last but one is computed twice; a single line, which only a caller asks for who wants one row
 * of the layer, is left to C. Sums become int8 by one line of integers, without a clamp.
 */
#ifndef GLOWMCU_DEPTHWISE_LINE_PAIRS_DSP_H
#define GLOWMCU_DEPTHWISE_LINE_PAIRS_DSP_H

#include "glowmcu_depthwise_words.h"

/* One call of the loop: pairs of output lines of four channels. The assembly knows the order. */
typedef struct {
    int32_t in_next_line;     /* bytes from the end of a line to the next one */
    int32_t out_next_line;
    int32_t entry;            /* where the first round is entered, and the word it expects */
    int32_t entry_word;
    uint32_t rounds;          /* 2 * (rounds - 1) + "the number of outputs is odd" */
    int32_t lines;            /* half as many */
    int32_t skip;             /* bytes of the words that the first round leaves out */
    int32_t out_skip;         /* bytes of the outputs that the first round leaves out */
    int32_t outputs;
    int32_t out_step;
} glowmcu_depthwise_pair_pass;

/*
 * `words` of the first line and channel, `out` its first output, `block` the four channels'
 * weights: for each channel and line the bytes k1, k0, k2; then for each channel what the epilogue
 * reads.
 */
typedef void (*glowmcu_depthwise_line_pairs)(const uint32_t *words, int8_t *out,
    const int32_t *block, const glowmcu_depthwise_pair_pass *pass);

/* Output lines of a band. */
#define GLOWMCU_DEPTHWISE_BAND (GLOWMCU_DEPTHWISE_LINES - 2)

/* Sum of 2^8 times the products under output `i` of a line; `word` is the line's first one. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_line_sum(const uint32_t *word, const int8_t *weights,
    int32_t i, int32_t sum)
{
    for (int32_t line = 0; line < 3; ++line, ++word, weights += 3) {
        for (int32_t tap = 0; tap < 3; ++tap) {
            const uint32_t two = word[((i + tap) >> 1) * GLOWMCU_DEPTHWISE_WORD];
            const int32_t x = (((i + tap) & 1) != 0) ? glowmcu_high_half(two)
                                                     : glowmcu_low_half(two);
            const int32_t weight = weights[(tap == 2) ? 2 : 1 - tap];
            sum = glowmcu_wrapping_add(sum, 256 * weight * x);
        }
    }
    return sum;
}

/* One line of outputs of four channels. */
GLOWMCU_CODE
static void glowmcu_depthwise_one_line(const uint32_t *words, int8_t *out, const int32_t *block,
    int32_t outputs, int32_t step, int32_t shift)
{
    for (int32_t channel = 0; channel < 4; ++channel) {
        const int8_t *weights = (const int8_t *)block + 9 * channel;
        const int32_t *q = block + 9 + 2 * channel;
        const uint32_t *in = words + channel * GLOWMCU_DEPTHWISE_LINES;
        for (int32_t i = 0; i < outputs; ++i) {
            const int32_t sum = glowmcu_depthwise_line_sum(in, weights, i, q[0]);
            out[channel + i * step] = (int8_t)glowmcu_saturate_s8(
                glowmcu_smmul(sum, q[1]) >> shift);
        }
    }
}

#if !GLOWMCU_HAS_DSP
/* What the assembly computes: `pass->lines` times two lines. */
GLOWMCU_CODE
static inline void glowmcu_portable_line_pairs(const uint32_t *words, int8_t *out,
    const int32_t *block, const glowmcu_depthwise_pair_pass *pass, int32_t shift)
{
    const int32_t step = pass->out_step;
    const int32_t line_step =
        (pass->out_next_line + pass->out_skip + (pass->outputs & ~1) * step) / 2;

    for (int32_t line = 0; line < 2 * pass->lines; ++line) {
        glowmcu_depthwise_one_line(words + line, out + line * line_step, block, pass->outputs,
            step, shift);
    }
}
#endif

/* What the loop needs to know to make `outputs` outputs of two lines. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_start_line_pairs(const glowmcu_depthwise_3x3 *p,
    int32_t outputs, glowmcu_depthwise_pair_pass *pass)
{
    const int32_t pairs = outputs >> 1;
    const int32_t rounds = (pairs + p->unrolled - 1) / p->unrolled;
    const int32_t left_out = rounds * p->unrolled - pairs;
    const int32_t pair_step = 4 * GLOWMCU_DEPTHWISE_WORD;

    pass->in_next_line = 2 * 4 - rounds * p->unrolled * pair_step;
    pass->out_skip = 2 * left_out * p->along.out_step;
    pass->out_next_line =
        2 * p->across.out_step - pass->out_skip - 2 * pairs * p->along.out_step;
    pass->entry = (pairs > 0) ? left_out : p->unrolled;
    pass->skip = left_out * pair_step;
    /* A block that goes down begins with the fourth line. */
    pass->entry_word = pass->skip + ((left_out & 1) != 0 ? 12 : 0);
    pass->rounds = (uint32_t)(((pairs > 0) ? 2 * rounds - 2 : 0) + (outputs & 1));
    pass->outputs = outputs;
    pass->out_step = p->along.out_step;
}

/* The band of output lines [line, line + lines) of four channels, whose words are there. */
GLOWMCU_CODE
static void glowmcu_depthwise_line_pairs_band(const glowmcu_depthwise_3x3 *p, int8_t *out,
    const uint32_t *words, const int32_t *block, glowmcu_depthwise_pair_pass *pass, int32_t lines,
    glowmcu_depthwise_line_pairs run_lines, int32_t shift)
{
    if (lines == 1) {
        glowmcu_depthwise_one_line(words, out, block, pass->outputs, pass->out_step, shift);
        return;
    }
    pass->lines = lines >> 1;
    run_lines(words, out, block, pass);
    if ((lines & 1) != 0) {
        pass->lines = 1;
        run_lines(words + lines - 2, out + (lines - 2) * p->across.out_step, block, pass);
    }
}

/* `outputs` outputs from `first` on of all lines of the range; `out` is the first one. */
GLOWMCU_CODE
static void glowmcu_depthwise_line_pairs_part(const glowmcu_depthwise_3x3 *p,
    const glowmcu_depthwise_range *range, int8_t *out, int32_t first, int32_t outputs,
    glowmcu_depthwise_line_pairs run_lines, int32_t shift)
{
    const int32_t count = range->end_line - range->first_line;
    const int32_t is_fresh = (count <= GLOWMCU_DEPTHWISE_BAND) ? 1 : 0;
    const int32_t *block = p->blocks;
    glowmcu_depthwise_plan plan;
    glowmcu_depthwise_pair_pass pass;

    glowmcu_depthwise_start_line_pairs(p, outputs, &pass);
    glowmcu_depthwise_plan_line(p, first, outputs, range->in_start, &plan);
    glowmcu_depthwise_pad(&plan, range->words, 1, plan.count * (GLOWMCU_DEPTHWISE_WORD / 4));
    for (int32_t channel = 0; channel < p->channels; channel += 4) {
        /* The last block starts earlier where channels are no multiple of four. */
        const int32_t c = (channel + 4 <= p->channels) ? channel : p->channels - 4;
        for (int32_t at = 0; at < count; at += GLOWMCU_DEPTHWISE_BAND) {
            const int32_t line = (at > 0 && count - at == 1) ? at - 1 : at;
            const int32_t left = count - line;
            const int32_t lines = (left < GLOWMCU_DEPTHWISE_BAND) ? left : GLOWMCU_DEPTHWISE_BAND;
            const int32_t kept = (at > 0) ? 2 : 0; /* lines that the band before has read */
            if (kept > 0) {
                glowmcu_depthwise_keep(
                    range->words, GLOWMCU_DEPTHWISE_BAND - (at - line), kept, plan.count);
            }
            glowmcu_depthwise_fill(p, &plan, range->in + c, range->words,
                range->first_line + line, lines, kept, is_fresh);
            glowmcu_depthwise_line_pairs_band(p, out + c + line * p->across.out_step,
                range->words, block, &pass, lines, run_lines, shift);
        }
        block += p->block_words;
    }
}

/*
 * Output rows [first_row, end_row) with the loop `run_lines`. Reads the input rows under them,
 * writes only those rows. `in` begins with the first of these input rows, `out` with row first_row.
 * A whole image may be made in place where channels are a multiple of four and a line is one part:
 * no line is read again after results took its place. Scratch: 128 bytes a word of a line's part.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_line_pairs_rows(const glowmcu_depthwise_3x3 *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row,
    glowmcu_depthwise_line_pairs run_lines, int32_t shift)
{
    const int32_t first = p->rows_are_along ? first_row : 0;
    const int32_t end = p->rows_are_along ? end_row : p->along.out_length;
    glowmcu_depthwise_range range;

    glowmcu_depthwise_start_range(p, in, scratch, first_row, end_row, &range);
    for (int32_t i = first; i < end; i += p->part) {
        const int32_t outputs = (end - i < p->part) ? end - i : p->part;
        glowmcu_depthwise_line_pairs_part(p, &range, out + (i - first) * p->along.out_step, i,
            outputs, run_lines, shift);
    }
}

#endif /* GLOWMCU_DEPTHWISE_LINE_PAIRS_DSP_H */

/*
 * glowmcu_depthwise_conv_2d_dsp.h: int8 depthwise 3x3 convolution for the DSP extension, without
 * dilation, one output channel an input channel; a line of outputs at a time, from words of
 * neighbours.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_DSP_H
#define GLOWMCU_DEPTHWISE_CONV_2D_DSP_H

#include "glowmcu_depthwise_words.h"

/* One call of the loop: some output lines of four channels. The assembly knows the order. */
typedef struct {
    int32_t in_next_line;     /* bytes from the end of a line to the next one */
    int32_t out_next_line;
    int32_t entry;            /* where the first round is entered, and the word it expects */
    int32_t entry_word;
    uint32_t step_and_rounds; /* out_step, 2 * (rounds - 1) + "the number is odd" above it */
    int32_t lines;
    int32_t skip;             /* bytes of the words that the first round leaves out */
    int32_t out_skip;         /* bytes of the outputs that the first round leaves out */
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t rounding;         /* 2 * out_zero_point + 1 */
    int32_t outputs;
    int32_t line_step;        /* words from output line to output line */
} glowmcu_depthwise_pass;

/*
 * `words` of the first line and channel, `out` its first output, `block` the four channels'
 * weights: for each channel and line the bytes k1, k0, k2; then for each channel what the epilogue
 * reads.
 */
typedef void (*glowmcu_depthwise_lines)(const uint32_t *words, int8_t *out, const int32_t *block,
    const glowmcu_depthwise_pass *pass);

/* What the loop needs to know to make `outputs` outputs of a line. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_start_lines(const glowmcu_depthwise_3x3 *p, int32_t outputs,
    glowmcu_depthwise_pass *pass)
{
    const int32_t pairs = outputs >> 1;
    const int32_t rounds = (pairs + p->unrolled - 1) / p->unrolled;
    const int32_t left_out = rounds * p->unrolled - pairs;
    const int32_t odd = outputs & 1;
    const int32_t pair_step = p->along.stride * 4 * GLOWMCU_DEPTHWISE_WORD;

    pass->in_next_line = 4 * p->across.stride - rounds * p->unrolled * pair_step;
    pass->out_skip = p->has_known_step ? 2 * left_out * p->along.out_step : 0;
    pass->out_next_line = p->across.out_step - pass->out_skip - 2 * pairs * p->along.out_step;
    pass->entry = (pairs > 0) ? left_out : p->unrolled;
    pass->skip = left_out * pair_step;
    pass->entry_word = pass->skip + ((left_out & 1) != 0 ? 8 : 0);
    pass->step_and_rounds = (uint32_t)p->along.out_step
        + ((uint32_t)((pairs > 0) ? 2 * rounds - 2 + odd : 0) << 16);
    pass->clamp_min = p->clamp_min;
    pass->clamp_max = p->clamp_max;
    pass->rounding = p->rounding;
    pass->outputs = outputs;
    pass->line_step = p->across.stride;
}

/*
 * `outputs` outputs from `first` on of all lines of the range; `out` is the first one. All of four
 * channels before the next: bands of lines, which share lines that are not read again.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_3x3_part(const glowmcu_depthwise_3x3 *p,
    const glowmcu_depthwise_range *range, int8_t *out, int32_t first, int32_t outputs,
    glowmcu_depthwise_lines run_lines)
{
    const int32_t band = (GLOWMCU_DEPTHWISE_LINES - 3) / p->across.stride + 1;
    const int32_t is_fresh = (range->end_line - range->first_line <= band) ? 1 : 0;
    const int32_t shared = (p->across.stride < 3) ? 3 - p->across.stride : 0;
    const int32_t *block = p->blocks;
    glowmcu_depthwise_plan plan;
    glowmcu_depthwise_pass pass;

    glowmcu_depthwise_start_lines(p, outputs, &pass);
    glowmcu_depthwise_plan_line(p, first, outputs, range->in_start, &plan);
    glowmcu_depthwise_pad(&plan, range->words, 1, plan.count * (GLOWMCU_DEPTHWISE_WORD / 4));
    for (int32_t channel = 0; channel < p->channels; channel += 4) {
        /* The last block starts earlier where channels are no multiple of four. */
        const int32_t c = (channel + 4 <= p->channels) ? channel : p->channels - 4;
        int8_t *to = out + c;
        int32_t kept = 0;
        for (int32_t line = range->first_line; line < range->end_line; line += band) {
            pass.lines = (range->end_line - line < band) ? range->end_line - line : band;
            if (kept > 0) {
                glowmcu_depthwise_keep(range->words, band * p->across.stride, kept, plan.count);
            }
            glowmcu_depthwise_fill(p, &plan, range->in + c, range->words, line, pass.lines, kept,
                is_fresh);
            kept = shared;
            run_lines(range->words, to, block, &pass);
            to += band * p->across.out_step;
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
static void glowmcu_depthwise_3x3_rows(const glowmcu_depthwise_3x3 *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row,
    glowmcu_depthwise_lines run_lines)
{
    const int32_t first = p->rows_are_along ? first_row : 0;
    const int32_t end = p->rows_are_along ? end_row : p->along.out_length;
    glowmcu_depthwise_range range;

    glowmcu_depthwise_start_range(p, in, scratch, first_row, end_row, &range);
    for (int32_t i = first; i < end; i += p->part) {
        const int32_t outputs = (end - i < p->part) ? end - i : p->part;
        glowmcu_depthwise_3x3_part(p, &range, out + (i - first) * p->along.out_step, i, outputs,
            run_lines);
    }
}

#if !GLOWMCU_HAS_DSP
/* Sum of one output; `word` is that of its first position. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_window(const uint32_t *word, const int8_t *weights,
    int32_t is_second, int32_t sum)
{
    for (int32_t line = 0; line < 3; ++line, weights += 3) {
        const uint32_t k01 = glowmcu_halves(256 * weights[1], 256 * weights[0]);
        const uint32_t k12 = glowmcu_halves(256 * weights[0], 256 * weights[2]);
        const uint32_t x01 = word[line];
        const uint32_t x23 = word[line + GLOWMCU_DEPTHWISE_WORD];
        if (is_second != 0) {
            sum = glowmcu_smlad(x23, k12, glowmcu_smlatb(x01, k01, sum));
        } else {
            sum = glowmcu_smlabt(x23, k12, glowmcu_smlad(x01, k01, sum));
        }
    }
    return sum;
}

/* What the assembly computes. */
GLOWMCU_CODE
static inline void glowmcu_portable_lines(const uint32_t *words, int8_t *out,
    const int32_t *block, const glowmcu_depthwise_pass *pass, int32_t stride, int32_t form,
    int32_t shift)
{
    const int32_t step = (int32_t)(pass->step_and_rounds & 0xFFFFu);
    const int32_t line_step = pass->line_step;

    for (int32_t channel = 0; channel < 4; ++channel) {
        const int8_t *weights = (const int8_t *)block + 9 * channel;
        const int32_t *q = block + 9 + 2 * channel;
        const uint32_t *in = words + channel * GLOWMCU_DEPTHWISE_LINES;
        int8_t *to = out + channel;
        for (int32_t line = 0; line < pass->lines; ++line) {
            for (int32_t i = 0; i < pass->outputs; ++i) {
                const int32_t is_second = ((stride == 1) && (i & 1) != 0) ? 1 : 0;
                const int32_t word = (stride == 1) ? i / 2 : i;
                int32_t x = glowmcu_depthwise_finish_scaled(
                    glowmcu_depthwise_window(in + word * GLOWMCU_DEPTHWISE_WORD, weights,
                        is_second, glowmcu_depthwise_start(q, form)),
                    q, form, shift, pass->rounding);
                x = (x < pass->clamp_min) ? pass->clamp_min : x;
                to[i * step] = (int8_t)((x > pass->clamp_max) ? pass->clamp_max : x);
            }
            in += line_step;
            to += (pass->outputs & ~1) * step + pass->out_skip + pass->out_next_line;
        }
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_DSP_H */

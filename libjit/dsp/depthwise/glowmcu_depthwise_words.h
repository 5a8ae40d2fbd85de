/*
 * glowmcu_depthwise_words.h: lines of an int8 image as words, for depthwise 3x3 convolution with
 * the DSP extension, without dilation, one output channel an input channel.
 *
 * Four channels at a time, lines of the image (rows or columns, whichever is longer) are expanded
 * to words of two int16 neighbours. A channel has eight lines, enough for a band of six output
 * lines:
 *
 *     words[word][channel 0..3][line 0..7]    128 bytes a word
 *
 * What lies outside the image is the zero point, so sums over x (not x - zero_point) need only a
 * constant, which their start has. Weights are scaled by 2^8.
 */
#ifndef GLOWMCU_DEPTHWISE_WORDS_H
#define GLOWMCU_DEPTHWISE_WORDS_H

#include "glowmcu_depthwise_forms.h"

#define GLOWMCU_DEPTHWISE_LINES 8
#define GLOWMCU_DEPTHWISE_WORD (4 * GLOWMCU_DEPTHWISE_LINES)

/* An axis of the image. Steps are bytes from position to position. */
typedef struct {
    int32_t in_length;
    int32_t in_step;
    int32_t out_length;
    int32_t out_step;
    int32_t stride;
    int32_t pad_before;
} glowmcu_depthwise_axis;

typedef struct {
    glowmcu_depthwise_axis along;  /* a line */
    glowmcu_depthwise_axis across; /* from line to line */
    int32_t rows_are_along;        /* lines are the image's columns */
    int32_t part;                  /* most outputs of a line that the scratch has room for */
    int32_t channels;
    int32_t in_zero_point;
    int32_t unrolled;              /* blocks of two outputs in a round of the loop */
    int32_t has_known_step;        /* the loop is made for out_step: rounds are always whole */
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t rounding;              /* 2 * out_zero_point + 1 */
    int32_t block_words;           /* of four channels: nine weights each, then their constants */
    const int32_t *blocks;
} glowmcu_depthwise_3x3;

/*
 * How a line is expanded; all lines inside the image alike. Words outside the image stay as they
 * are. The assembly knows the order.
 */
typedef struct {
    int32_t step;      /* bytes from position to position, and from line to line */
    int32_t line_step;
    int32_t pairs;     /* words inside the image */
    int32_t has_head;  /* before them, one whose second position is the first of the image */
    int32_t has_tail;  /* after them, one whose first position is the last of the image */
    uint32_t padding;  /* zero points of four channels */
    int32_t from;      /* bytes from the input to what is read first, were it in line 0 */
    int32_t before;    /* words before the image */
    int32_t count;     /* all words of a line */
} glowmcu_depthwise_plan;

/* For the words under `outputs` outputs from `first` on. Reads no position beyond these. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_plan_line(const glowmcu_depthwise_3x3 *p, int32_t first,
    int32_t outputs, int32_t in_start, glowmcu_depthwise_plan *plan)
{
    const int32_t count = (p->along.stride == 1) ? (outputs + 1) / 2 + 1 : outputs + 1;
    const int32_t begin = first * p->along.stride - p->along.pad_before;
    const int32_t empty = (begin < 0) ? -begin / 2 : 0;
    const int32_t before = (empty < count) ? empty : count;
    const int32_t has_head = ((begin < 0) && (begin & 1) != 0 && (before < count)) ? 1 : 0;
    const int32_t inside = begin + 2 * (before + has_head);
    const int32_t left = count - before - has_head;
    const int32_t end = begin + (outputs - 1) * p->along.stride + 3;
    const int32_t positions = ((end < p->along.in_length) ? end : p->along.in_length) - inside;
    const int32_t pairs = (positions > 0) ? positions >> 1 : 0;

    plan->step = p->along.in_step;
    plan->line_step = p->across.in_step;
    plan->before = before;
    plan->has_head = has_head;
    plan->from = (inside - has_head) * p->along.in_step - in_start;
    plan->pairs = (pairs < left) ? pairs : left;
    plan->has_tail = (pairs < left) && (positions > 0) && (positions & 1) != 0;
    plan->count = count;
    plan->padding = (uint32_t)(p->in_zero_point & 0xFF) * 0x01010101u;
}

/*
 * `lines` lines of four channels into neighbouring slots. `x` is the position of the first line
 * that is read first, `to` its word.
 */
#if GLOWMCU_HAS_DSP
/* Words a and b of four bytes each to four words, {a, b} of each byte. Spoils a, b and r8. */
#define GLOWMCU_DEPTHWISE_INTERLEAVE(a, b, c0, c1, c2, c3) \
    "pkhbt r8, " #a ", " #b ", lsl #16\n"                  \
    "pkhtb " #b ", " #b ", " #a ", asr #16\n"              \
    "sxtb16 " #a ", r8\n"                                  \
    "sxtb16 r8, r8, ror #8\n"                             \
    "str " #a ", [r2, #" #c0 "]\n"                         \
    "str r8, [r2, #" #c1 "]\n"                            \
    "sxtb16 " #a ", " #b "\n"                              \
    "sxtb16 " #b ", " #b ", ror #8\n"                      \
    "str " #a ", [r2, #" #c2 "]\n"                         \
    "str " #b ", [r2, #" #c3 "]\n"

/* The next four positions to two words of each channel; keeps the flags. */
#define GLOWMCU_DEPTHWISE_INTERLEAVE_FOUR(c0, c1, c2, c3, d0, d1, d2, d3) \
    "ldr r4, [r1]\n"                                                      \
    "ldr r5, [r1, r9]\n"                                                  \
    "ldr r6, [r1, r9, lsl #1]\n"                                          \
    "ldr r7, [r1, r10]\n"                                                 \
    "add r1, r1, r9, lsl #2\n"                                            \
    GLOWMCU_DEPTHWISE_INTERLEAVE(r4, r5, c0, c1, c2, c3)                  \
    GLOWMCU_DEPTHWISE_INTERLEAVE(r6, r7, d0, d1, d2, d3)

/* r1 x, r2 to, r3 pairs left, r9 step, r10 three steps, r11 and r12 x and to of the line. */
/* stack: 36 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_expand(
    const glowmcu_depthwise_plan *plan GLOWMCU_UNUSED,
    const int8_t *x GLOWMCU_UNUSED, uint32_t *to GLOWMCU_UNUSED,
    int32_t lines GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "mov lr, r3\n"
        "ldr r9, [r0]\n"
        "add r10, r9, r9, lsl #1\n"
        "mov r11, r1\n"
        "mov r12, r2\n"
        "1:\n"
        "ldr r3, [r0, #8]\n"
        "ldr r4, [r0, #12]\n"
        "cbz r4, 2f\n"
        "ldr r4, [r0, #20]\n"
        "ldr r5, [r1]\n"
        "add r1, r9\n"
        GLOWMCU_DEPTHWISE_INTERLEAVE(r4, r5, 0, 32, 64, 96)
        "adds r2, #128\n"
        "2:\n"
        "subs r3, #4\n"
        "blo 4f\n"
        "3:\n"
        GLOWMCU_DEPTHWISE_INTERLEAVE_FOUR(0, 32, 64, 96, 128, 160, 192, 224)
        GLOWMCU_DEPTHWISE_INTERLEAVE_FOUR(256, 288, 320, 352, 384, 416, 448, 480)
        "add r2, r2, #512\n"
        "subs r3, #4\n"
        "bhs 3b\n"
        "4:\n"
        "lsls r3, r3, #31 /* carry: two more, minus: one more */\n"
        "bcc 7f\n"
        GLOWMCU_DEPTHWISE_INTERLEAVE_FOUR(0, 32, 64, 96, 128, 160, 192, 224)
        "add r2, r2, #256\n"
        "7:\n"
        "bpl 5f\n"
        "ldr r4, [r1]\n"
        "ldr r5, [r1, r9]\n"
        "add r1, r1, r9, lsl #1\n"
        GLOWMCU_DEPTHWISE_INTERLEAVE(r4, r5, 0, 32, 64, 96)
        "adds r2, #128\n"
        "5:\n"
        "ldr r5, [r0, #16]\n"
        "cbz r5, 6f\n"
        "ldr r5, [r0, #20]\n"
        "ldr r4, [r1]\n"
        GLOWMCU_DEPTHWISE_INTERLEAVE(r4, r5, 0, 32, 64, 96)
        "6:\n"
        "ldr r4, [r0, #4]\n"
        "add r12, r12, #4\n"
        "add r11, r11, r4\n"
        "mov r2, r12\n"
        "mov r1, r11\n"
        "subs lr, lr, #1\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n"
    );
}
#else
/* Channel c of both positions becomes the word to[c * LINES]. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_interleave(uint32_t a, uint32_t b, uint32_t *to)
{
    const uint32_t low = glowmcu_pack_low(a, b);
    const uint32_t high = glowmcu_pack_high(a, b);

    to[0 * GLOWMCU_DEPTHWISE_LINES] = glowmcu_sxtb16(low);
    to[1 * GLOWMCU_DEPTHWISE_LINES] = glowmcu_sxtb16_ror8(low);
    to[2 * GLOWMCU_DEPTHWISE_LINES] = glowmcu_sxtb16(high);
    to[3 * GLOWMCU_DEPTHWISE_LINES] = glowmcu_sxtb16_ror8(high);
}

GLOWMCU_CODE
static void glowmcu_depthwise_expand(const glowmcu_depthwise_plan *plan, const int8_t *x,
    uint32_t *to, int32_t lines)
{
    for (int32_t line = 0; line < lines; ++line) {
        const int8_t *from = x + line * plan->line_step;
        uint32_t *word = to + line;
        if (plan->has_head != 0) {
            glowmcu_depthwise_interleave(plan->padding, glowmcu_load_word(from), word);
            from += plan->step;
            word += GLOWMCU_DEPTHWISE_WORD;
        }
        for (int32_t pair = 0; pair < plan->pairs; ++pair) {
            glowmcu_depthwise_interleave(
                glowmcu_load_word(from), glowmcu_load_word(from + plan->step), word);
            from += 2 * plan->step;
            word += GLOWMCU_DEPTHWISE_WORD;
        }
        if (plan->has_tail != 0) {
            glowmcu_depthwise_interleave(glowmcu_load_word(from), plan->padding, word);
        }
    }
}
#endif

/* Zero points in four times `count` words, `step` apart: a line outside the image, or all lines. */
GLOWMCU_CODE
static void glowmcu_depthwise_pad(const glowmcu_depthwise_plan *plan, uint32_t *to, int32_t step,
    int32_t count)
{
    const uint32_t padding = glowmcu_sxtb16(plan->padding);

    for (; count > 0; --count) {
        to[0] = padding;
        to[step] = padding;
        to[2 * step] = padding;
        to[3 * step] = padding;
        to += 4 * step;
    }
}

/*
 * Expands the lines under output lines [line, line + lines) but the first `kept`, which are there.
 * Lines outside the image need nothing when their words have never been used (`is_fresh`).
 */
GLOWMCU_CODE
static inline void glowmcu_depthwise_fill(const glowmcu_depthwise_3x3 *p,
    const glowmcu_depthwise_plan *plan, const int8_t *in, uint32_t *words, int32_t line,
    int32_t lines, int32_t kept, int32_t is_fresh)
{
    const int32_t used = (lines - 1) * p->across.stride + 3;
    const int32_t y = line * p->across.stride - p->across.pad_before;
    const int32_t first = (-y > kept) ? ((-y < used) ? -y : used) : kept;
    const int32_t left = p->across.in_length - y;
    const int32_t end = (left < used) ? ((left > first) ? left : first) : used;

    if (!is_fresh) {
        for (int32_t slot = kept; slot < used; ++slot) {
            if (slot < first || slot >= end) {
                glowmcu_depthwise_pad(plan, words + slot, GLOWMCU_DEPTHWISE_LINES, plan->count);
            }
        }
    }
    if (end > first) {
        glowmcu_depthwise_expand(plan, in + (y + first) * plan->line_step + plan->from,
            words + first + plan->before * GLOWMCU_DEPTHWISE_WORD, end - first);
    }
}

/* The first slots of `count` words become what slots from `from` on hold: one, or two of them. */
GLOWMCU_CODE
static void glowmcu_depthwise_keep(uint32_t *words, int32_t from, int32_t kept, int32_t count)
{
    const uint32_t *moved = words + from;

    if (kept > 1) {
        for (int32_t left = 4 * count; left > 0; left -= 2) {
            const uint32_t a = moved[0];
            const uint32_t b = moved[1];
            const uint32_t c = moved[GLOWMCU_DEPTHWISE_LINES];
            const uint32_t d = moved[GLOWMCU_DEPTHWISE_LINES + 1];
            words[0] = a;
            words[1] = b;
            words[GLOWMCU_DEPTHWISE_LINES] = c;
            words[GLOWMCU_DEPTHWISE_LINES + 1] = d;
            words += 2 * GLOWMCU_DEPTHWISE_LINES;
            moved += 2 * GLOWMCU_DEPTHWISE_LINES;
        }
    } else {
        for (; count > 0; --count) {
            const uint32_t a = moved[0];
            const uint32_t b = moved[GLOWMCU_DEPTHWISE_LINES];
            const uint32_t c = moved[2 * GLOWMCU_DEPTHWISE_LINES];
            const uint32_t d = moved[3 * GLOWMCU_DEPTHWISE_LINES];
            words[0] = a;
            words[GLOWMCU_DEPTHWISE_LINES] = b;
            words[2 * GLOWMCU_DEPTHWISE_LINES] = c;
            words[3 * GLOWMCU_DEPTHWISE_LINES] = d;
            words += GLOWMCU_DEPTHWISE_WORD;
            moved += GLOWMCU_DEPTHWISE_WORD;
        }
    }
}

/* What a call computes: output lines [first_line, end_line), or some positions of all of them. */
typedef struct {
    const int8_t *in;
    int32_t in_start; /* bytes from the image to `in` */
    uint32_t *words;
    int32_t first_line;
    int32_t end_line;
} glowmcu_depthwise_range;

/* For output rows [first_row, end_row); `in` is the first input row under them. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_start_range(const glowmcu_depthwise_3x3 *p, const int8_t *in,
    int8_t *scratch, int32_t first_row, int32_t end_row, glowmcu_depthwise_range *range)
{
    const glowmcu_depthwise_axis *rows = p->rows_are_along ? &p->along : &p->across;

    range->in = in;
    range->in_start = rows->in_step
        * glowmcu_first_input_row(first_row, rows->stride, rows->pad_before);
    range->words = (uint32_t *)(void *)scratch;
    range->first_line = p->rows_are_along ? 0 : first_row;
    range->end_line = p->rows_are_along ? p->across.out_length : end_row;
}

#endif /* GLOWMCU_DEPTHWISE_WORDS_H */

/*
 * glowmcu_row_window.h: a window of int16 rows that moves down over an int8 image.
 *
 * Each input row is widened once into the window, with the zero point wherever padding is, so that
 * a convolution's sums run over stored values and every tap of the kernel exists.
 */
#ifndef GLOWMCU_ROW_WINDOW_H
#define GLOWMCU_ROW_WINDOW_H

#include "glowmcu_little_endian.h"
#include "glowmcu_pixel_pairs.h"

typedef struct {
    int32_t in_height;
    int32_t in_row; /* values in a row of the input */
    int32_t in_zero_point;
    int32_t shuffled;    /* a window holds values 0 2 1 3 of every four */
    int32_t pitch;       /* values in a row of the window, even */
    int32_t left;        /* values of padding before a row */
    int32_t window_rows; /* that the window has room for */
    int32_t kernel_rows; /* of the input, under one output pixel */
    int32_t stride_y;
    int32_t pad_top;
    int32_t out_width;
    int32_t out_channels;
    int32_t pixel_values; /* in the window, from one output pixel to the next */
    int32_t across;       /* a pair's pixels are that far apart; 0: one row below the other */
    int32_t clamp_min;
    int32_t clamp_max;
    const int32_t *stream;
    int32_t stream_words;
    int32_t group_words; /* of the stream for four output channels */
} glowmcu_conv_2d_rows;

/* `value` for all of `count` halves. */
GLOWMCU_CODE
static void glowmcu_fill_halves(int16_t *out, int32_t count, int32_t value)
{
    const uint32_t both = glowmcu_halves(value, value);

    for (; count >= 16; count -= 16, out += 16) {
        (void)memcpy(out, &both, sizeof both);
        (void)memcpy(out + 2, &both, sizeof both);
        (void)memcpy(out + 4, &both, sizeof both);
        (void)memcpy(out + 6, &both, sizeof both);
        (void)memcpy(out + 8, &both, sizeof both);
        (void)memcpy(out + 10, &both, sizeof both);
        (void)memcpy(out + 12, &both, sizeof both);
        (void)memcpy(out + 14, &both, sizeof both);
    }
    for (; count > 0; --count) {
        *out++ = (int16_t)value;
    }
}

/* `blocks` times sixteen words to a lower address, at least one block. */
#if GLOWMCU_HAS_DSP
/* stack: 32 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_move_blocks(
    const int16_t *from GLOWMCU_UNUSED, int16_t *to GLOWMCU_UNUSED, int32_t blocks GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "push {r4-r11}\n"
        "1:\n\t"
        "ldmia r0!, {r4-r11}\n\t"
        "stmia r1!, {r4-r11}\n\t"
        "ldmia r0!, {r4-r11}\n\t"
        "stmia r1!, {r4-r11}\n\t"
        "subs r2, #1\n\t"
        "bne 1b\n\t"
        "pop {r4-r11}\n\t"
        "bx lr\n\t"
    );
}
#else
GLOWMCU_CODE
static void glowmcu_move_blocks(const int16_t *from, int16_t *to, int32_t blocks)
{
    (void)memmove(to, from, (size_t)blocks * 64u);
}
#endif

/* `count` values, an even number, to a lower address. */
GLOWMCU_CODE
static void glowmcu_move_halves(const int16_t *from, int16_t *to, int32_t count)
{
    const int32_t blocks = count / 32;

    if (blocks > 0) {
        glowmcu_move_blocks(from, to, blocks);
    }
    for (int32_t i = 32 * blocks; i < count; i += 2) {
        const uint32_t two = glowmcu_load_word(from + i);
        (void)memcpy(to + i, &two, sizeof two);
    }
}

/* Four int8 values to int16: in memory order, or as 0 2 1 3. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_widen_four(uint32_t four, int16_t *out, int32_t shuffled)
{
    const uint32_t even = glowmcu_sxtb16(four);
    const uint32_t odd = glowmcu_sxtb16_ror8(four);
    const uint32_t low = shuffled ? even : glowmcu_pack_low(even, odd);
    const uint32_t high = shuffled ? odd : glowmcu_pack_high(even, odd);

    (void)memcpy(out, &low, sizeof low);
    (void)memcpy(out + 2, &high, sizeof high);
}

/* Sixteen int8 values to int16. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_widen_sixteen(const int8_t *in, int16_t *out,
    int32_t shuffled)
{
    const uint32_t a = glowmcu_load_word(in);
    const uint32_t b = glowmcu_load_word(in + 4);
    const uint32_t c = glowmcu_load_word(in + 8);
    const uint32_t d = glowmcu_load_word(in + 12);

    glowmcu_widen_four(a, out, shuffled);
    glowmcu_widen_four(b, out + 4, shuffled);
    glowmcu_widen_four(c, out + 8, shuffled);
    glowmcu_widen_four(d, out + 12, shuffled);
}

/* `count` int8 values to int16; `count % 4` is 0 where they are shuffled. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_widen(const int8_t *in, int16_t *out, int32_t count,
    int32_t shuffled)
{
    for (; count >= 32; count -= 32, in += 32, out += 32) {
        glowmcu_widen_sixteen(in, out, shuffled);
        glowmcu_widen_sixteen(in + 16, out + 16, shuffled);
    }
    for (; count >= 4; count -= 4, in += 4, out += 4) {
        glowmcu_widen_four(glowmcu_load_word(in), out, shuffled);
    }
    for (; count > 0; --count) {
        *out++ = *in++;
    }
}

/* What lies beside the rows of the window, whichever they are. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_conv_2d_rows_pad(const glowmcu_conv_2d_rows *p, int16_t *row)
{
    const int32_t right = p->left + p->in_row;

    for (int32_t i = 0; i < p->window_rows; ++i, row += p->pitch) {
        glowmcu_fill_halves(row, p->left, p->in_zero_point);
        glowmcu_fill_halves(row + right, p->pitch - right, p->in_zero_point);
    }
}

/* Input row `y`, or padding, into a row of the window; `in` begins with row `in_top`. */
GLOWMCU_CODE
static void glowmcu_conv_2d_rows_load(const glowmcu_conv_2d_rows *p, const int8_t *in,
    int32_t in_top, int32_t y, int16_t *row)
{
    if (y < 0 || y >= p->in_height) {
        glowmcu_fill_halves(row, p->pitch, p->in_zero_point);
    } else if (p->shuffled != 0) {
        glowmcu_widen(in + (y - in_top) * p->in_row, row + p->left, p->in_row, 1);
    } else {
        glowmcu_widen(in + (y - in_top) * p->in_row, row + p->left, p->in_row, 0);
    }
}

GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_clamp_s8(int8_t *values, int32_t count, int32_t low, int32_t high)
{
    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = values[i];
        values[i] = (int8_t)((value < low) ? low : ((value > high) ? high : value));
    }
}

/* Holds input rows [base, next), the first one at its start; `in` begins with row `in_top`. */
typedef struct {
    int16_t *rows;
    int32_t base;
    int32_t next;
    const int8_t *in;
    int32_t in_top;
} glowmcu_conv_2d_window;

/*
 * Input rows [top, end), which have room in the window: returns where they are. Where they would
 * not be side by side, those that are there already move to its start. Not inlined, so that its
 * registers are not on the stack while the rows are used.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static const int16_t *glowmcu_conv_2d_window_fill(
    const glowmcu_conv_2d_rows *p, glowmcu_conv_2d_window *w, int32_t top, int32_t end)
{
    if (end - w->base > p->window_rows) {
        if (w->next > top) {
            const int16_t *from = w->rows + (top - w->base) * p->pitch;
            glowmcu_move_halves(from, w->rows, (w->next - top) * p->pitch);
        }
        w->base = top;
    }
    w->next = (w->next < top) ? top : w->next;
    for (; w->next < end; ++w->next) {
        glowmcu_conv_2d_rows_load(p, w->in, w->in_top, w->next,
            w->rows + (w->next - w->base) * p->pitch);
    }
    return w->rows + (top - w->base) * p->pitch;
}

/*
 * What computes `rows` rows of outputs, 1 or as many as go at once, from the window at `top`.
 * `spare` is the scratch behind the window.
 */
typedef void (*glowmcu_conv_2d_turn)(const glowmcu_conv_2d_rows *p, const int16_t *top, int8_t *out,
    int32_t rows, int16_t *spare);

/*
 * Output rows [first_row, end_row), `at_once` a turn. Reads the input rows under them, writes only
 * those rows. `in` begins with the first of these input rows, `out` with row first_row. Results may
 * overwrite rows that are in the window: each is loaded once, before its turn. `scratch` is the
 * window and what the turns need.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_turns(const glowmcu_conv_2d_rows *p, glowmcu_conv_2d_turn turn,
    int32_t at_once, const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row,
    int32_t end_row)
{
    const int32_t start = first_row * p->stride_y - p->pad_top;
    glowmcu_conv_2d_window w;

    w.rows = (int16_t *)(void *)scratch;
    w.base = start;
    w.next = start;
    w.in = in;
    w.in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    glowmcu_conv_2d_rows_pad(p, w.rows);
    for (int32_t oy = first_row; oy < end_row; oy += at_once) {
        const int32_t rows = (end_row - oy < at_once) ? end_row - oy : at_once;
        const int32_t count = rows * p->out_width * p->out_channels;
        const int32_t top = oy * p->stride_y - p->pad_top;
        const int16_t *window = glowmcu_conv_2d_window_fill(
            p, &w, top, top + p->kernel_rows + (rows - 1) * p->stride_y);
        turn(p, window, out, rows, w.rows + p->window_rows * p->pitch);
        if (p->clamp_min > -128 || p->clamp_max < 127) {
            glowmcu_clamp_s8(out, count, p->clamp_min, p->clamp_max);
        }
        out += count;
    }
}

#endif /* GLOWMCU_ROW_WINDOW_H */

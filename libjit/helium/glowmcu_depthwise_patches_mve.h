/*
 * glowmcu_depthwise_patches_mve.h: int8 depthwise convolution with windows three pixels wide and up
 * to four rows high, without strides along a row: a vector is a patch of 4x4 pixels of a channel.
 *
 * Four input rows are interleaved byte by byte, so that a word has four rows of a pixel's channel
 * and four words, gathered, are a patch. One VMLADAV.S8 a result multiplies it by the window where
 * that lies in the patch and adds up: two results beside each other and, where strides allow it,
 * two below them are made of the same patch.
 */
#ifndef GLOWMCU_DEPTHWISE_PATCHES_MVE_H
#define GLOWMCU_DEPTHWISE_PATCHES_MVE_H

#include "glowmcu_scale_mve.h"

#define GLOWMCU_DEPTHWISE_PATCHES_BYTES 16 /* of a vector */

typedef struct {
    int32_t channels;      /* at least 8 */
    int32_t kernel_height; /* at most 4, 3 pixels wide */
    int32_t preshift;
    /*
     * For each channel a word of zeros and three of weights: a column of the window each, rows in
     * bytes. A word of zeros. For each channel the addend and the multiplier of a result,
     *   sat8(high_word(2 * ((sum << preshift) + addend) * multiplier) >> 16).
     * Behind the last are two words that mean nothing.
     */
    const int32_t *stream;
    int32_t in_height;
    int32_t in_width;
    int32_t out_width; /* at least 3 */
    int32_t stride_y;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t band_rows;   /* output rows at a time: 2 where kernel_height + stride_y <= 4, else 1 */
    int32_t group;       /* channels at a time: 16, or all if they are fewer */
    int32_t used_pixels; /* of an input row, inside the image */
    /*
     * 1: a band's input is read before the band in front of it is written; 0: behind it, so that
     * scratch is half, and results must not overwrite what later bands read.
     */
    int32_t reads_ahead;
    int32_t is_ragged; /* used_pixels of a group end within a vector */
    /* Of the interleaved rows of a group: out_width + 2 pixels or, if vectors end later, more. */
    int32_t band_bytes;
} glowmcu_depthwise_patches_mve;

/* What the assembly reads by offsets. */
typedef struct {
    const int8_t *rows[4];
    int32_t steps[4]; /* between their vectors; 0 where a row is padding */
    int8_t *words;
    int32_t bytes; /* of each row; the last vector may have fewer than 16 */
    int32_t vectors;
} glowmcu_depthwise_patches_mve_rows;

typedef struct {
    const int32_t *weights; /* of the first channel */
    const int32_t *constants;
    const int8_t *words;
    int8_t *out;
    int32_t column;      /* bytes between a channel's words */
    int32_t row;         /* bytes between output rows; 0: there is one */
    int32_t pixel;       /* bytes between output pixels */
    int32_t preshift;
    int32_t pair[2];     /* from pair to pair in words and out */
    int32_t middle;      /* pairs between the first and the last */
    int32_t shift;       /* of the weights for the second row: 8 * stride_y; 0 if there is none */
    const int32_t *end;  /* of the weights, and a channel's more */
    int32_t last[2];     /* to the last pair, which may overlap */
    int32_t next[2];     /* from there to the next channel's first */
} glowmcu_depthwise_patches_mve_band;

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_patches_mve_rows, words) == 32, words_at_32);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_patches_mve_rows, vectors) == 40, vectors_at_40);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_patches_mve_band, column) == 16, column_at_16);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_patches_mve_band, pair) == 32, pair_at_32);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_patches_mve_band, middle) == 40, middle_at_40);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_patches_mve_band, next) == 60, next_at_60);

/*
 * Four rows to words, byte by byte: 16 words a vector, those behind `bytes` with zeros.
 *
 * r0-r3 rows, r4-r7 their steps, r8 words, r9 bytes left.
 */
/* stack: 36 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_patches_mve_interleave(
    const glowmcu_depthwise_patches_mve_rows *p GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r4-r11, lr}\n"
        "   ldrd        r8, r9, [r0, #32]\n"
        "   ldr         r12, [r0, #40]\n"
        "   dls         lr, r12\n"
        "   ldm         r0, {r0-r7}\n"
        "1: vctp.8      r9\n"
        "   vpstttt\n"
        "   vldrbt.u8   q0, [r0]\n"
        "   vldrbt.u8   q1, [r1]\n"
        "   vldrbt.u8   q2, [r2]\n"
        "   vldrbt.u8   q3, [r3]\n"
        "   sub         r9, r9, #16\n"
        "   add         r0, r4\n"
        "   add         r1, r5\n"
        "   vst40.8     {q0, q1, q2, q3}, [r8]\n"
        "   add         r2, r6\n"
        "   vst41.8     {q0, q1, q2, q3}, [r8]\n"
        "   add         r3, r7\n"
        "   vst42.8     {q0, q1, q2, q3}, [r8]\n"
        "   vst43.8     {q0, q1, q2, q3}, [r8]!\n"
        "   le          lr, 1b\n"
        "   pop         {r4-r11, pc}\n");
}

/*
 * A band of one or two output rows, a channel after another, two columns at a time. The sums of a
 * patch become results while the next one's are made; a channel's last ones while the next
 * channel's weights are loaded, or behind the last channel what lies there. A second row that does
 * not exist is the first one once more.
 *
 * r1 words, r3 out, of a pair; r5 weights, r0 constants of the next channel; r2 addend, r12
 * multiplier; r11 preshift; r4 r6 r8 r10 sums; r7 r9 from pair to pair. q0 a patch; q1 results; q2
 * q3 offsets of words and results; q4 q5 weights of the left and the right result, q6 q7 of those
 * below. On the stack: middle, shift, end, last, next.
 */
/* stack: 128 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_patches_mve_compute(
    const glowmcu_depthwise_patches_mve_band *p GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r4-r11, lr}\n"
        "   vpush       {d8-d15}\n"
        "   ldrd        r6, r8, [r0, #16]\n"    /* column, row */
        "   ldrd        r10, r11, [r0, #24]\n"  /* pixel, preshift */
        "   movs        r4, #0\n"
        "   vmov        q3[2], q3[0], r4, r8\n"
        "   add         r8, r10\n"
        "   vmov        q3[3], q3[1], r10, r8\n"
        "   vidup.u32   q2, r4, #1\n"
        "   vmul.i32    q2, q2, r6\n"
        "   add         r1, r0, #40\n"
        "   ldm         r1, {r4-r10}\n"         /* middle, shift, end, last, next */
        "   push        {r4-r10}\n"
        "   mov         lr, r4\n"
        "   vdup.32     q0, r5\n"
        "   ldrd        r7, r9, [r0, #32]\n"    /* pair */
        "   ldrd        r1, r3, [r0, #8]\n"     /* words, out */
        "   ldrd        r5, r0, [r0, #0]\n"     /* weights, constants */
        "   vldrw.u32   q4, [r5, #4]\n"
        "   vldrw.u32   q5, [r5], #16\n"
        "   vshl.s32    q6, q4, q0\n"
        "   ldrd        r2, r12, [r0], #8\n"
        "   vshl.s32    q7, q5, q0\n"
        "   vldrw.u32   q0, [r1, q2]\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   vmladav.s8  r6, q0, q5\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   vmladav.s8  r10, q0, q7\n"
        "1: wls         lr, lr, 3f\n"           /* a channel */
        "2: add         r1, r7\n"
        "   vmov        q1[3], q1[1], r6, r10\n"
        "   vmov        q1[2], q1[0], r4, r8\n"
        "   vshl.s32    q1, r11\n"
        "   vldrw.u32   q0, [r1, q2]\n"
        "   vadd.i32    q1, q1, r2\n"
        "   vqdmulh.s32 q1, q1, r12\n"
        "   vshrnb.i32  q1, q1, #16\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vmladav.s8  r6, q0, q5\n"
        "   vstrb.32    q1, [r3, q3]\n"
        "   vmladav.s8  r10, q0, q7\n"
        "   add         r3, r9\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   le          lr, 2b\n"
        "3: vmov        q1[3], q1[1], r6, r10\n"
        "   vmov        q1[2], q1[0], r4, r8\n"
        "   ldrd        r6, r10, [sp, #12]\n"   /* the last pair */
        "   vshl.s32    q1, r11\n"
        "   add         r1, r6\n"
        "   vldrw.u32   q0, [r1, q2]\n"
        "   vadd.i32    q1, q1, r2\n"
        "   vqdmulh.s32 q1, q1, r12\n"
        "   vshrnb.i32  q1, q1, #16\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vmladav.s8  r6, q0, q5\n"
        "   vstrb.32    q1, [r3, q3]\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   add         r3, r10\n"
        "   vmladav.s8  r10, q0, q7\n"
        "   vmov        q1[2], q1[0], r4, r8\n"
        "   ldrd        r4, lr, [sp, #20]\n"    /* the next channel */
        "   vmov        q1[3], q1[1], r6, r10\n"
        "   ldrd        r8, r10, [sp, #4]\n"    /* shift, end */
        "   vshl.s32    q1, r11\n"
        "   vldrw.u32   q4, [r5, #4]\n"
        "   vadd.i32    q1, q1, r2\n"
        "   add         r1, r4\n"
        "   vqdmulh.s32 q1, q1, r12\n"
        "   vldrw.u32   q5, [r5], #16\n"
        "   vdup.32     q7, r8\n"
        "   vldrw.u32   q0, [r1, q2]\n"
        "   vshrnb.i32  q1, q1, #16\n"
        "   vshl.s32    q6, q4, q7\n"
        "   ldrd        r2, r12, [r0], #8\n"
        "   vqmovnb.s16 q1, q1\n"
        "   vmladav.s8  r4, q0, q4\n"
        "   vshl.s32    q7, q5, q7\n"
        "   vmladav.s8  r6, q0, q5\n"
        "   vstrb.32    q1, [r3, q3]\n"
        "   cmp         r5, r10\n"
        "   vmladav.s8  r8, q0, q6\n"
        "   add         r3, lr\n"
        "   ldr         lr, [sp]\n"             /* middle */
        "   vmladav.s8  r10, q0, q7\n"
        "   bne         1b\n"
        "   add         sp, sp, #28\n"
        "   vpop        {d8-d15}\n"
        "   pop         {r4-r11, pc}\n");
}
#else
GLOWMCU_CODE
static inline void glowmcu_depthwise_patches_mve_interleave(
    const glowmcu_depthwise_patches_mve_rows *p)
{
    for (int32_t i = 0; i < 4; ++i) {
        for (int32_t n = 0; n < p->bytes; ++n) {
            const int32_t vector = n / GLOWMCU_DEPTHWISE_PATCHES_BYTES;
            const int32_t lane = n % GLOWMCU_DEPTHWISE_PATCHES_BYTES;
            p->words[4 * n + i] = p->rows[i][vector * p->steps[i] + lane];
        }
    }
}

/* The result in column `ox` of row `i` of the band, of the channel at `w`, `c` and `words`. */
GLOWMCU_CODE
static inline int8_t glowmcu_depthwise_patches_mve_one(
    const glowmcu_depthwise_patches_mve_band *p, const int8_t *w, const int32_t *c, int32_t words,
    int32_t ox, int32_t i)
{
    int32_t sum = 0; /* within int32: the layer's comment has the bound */

    for (int32_t kx = 0; kx < 3; ++kx) {
        const int8_t *x = p->words + words + (ox + kx) * p->column;
        for (int32_t ky = 0; ky < 4 - i * p->shift / 8; ++ky) {
            sum += x[ky + i * p->shift / 8] * w[4 * kx + ky];
        }
    }
    {
        const uint32_t line = ((uint32_t)sum << p->preshift) + (uint32_t)c[0];
        const int32_t high = (int32_t)(((int64_t)(int32_t)line * c[1]) >> 31);

        return (int8_t)glowmcu_scale_mve_saturated(high >> 16, -128, 127);
    }
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_patches_mve_compute(
    const glowmcu_depthwise_patches_mve_band *p)
{
    const int32_t width = p->last[1] / p->pixel + 2 * p->middle + 2;
    const int32_t channels = (int32_t)(p->end - p->weights) / 4 - 1;

    for (int32_t c = 0; c < channels; ++c) {
        const int8_t *w = (const int8_t *)(p->weights + 4 * c + 1);
        const int32_t *constants = p->constants + 2 * c;
        for (int32_t ox = 0; ox < width; ++ox) {
            int8_t *out = p->out + ox * p->pixel + c;
            out[0] = glowmcu_depthwise_patches_mve_one(p, w, constants, 4 * c, ox, 0);
            if (p->row != 0) {
                out[p->row] = glowmcu_depthwise_patches_mve_one(p, w, constants, 4 * c, ox, 1);
            }
        }
    }
}
#endif

/*
 * Points `rows` to the input rows under `count` output rows from `oy` on, from channel `c` on.
 * `in` begins with row in_top; `padding` has 16 bytes of the zero point.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_patches_mve_find(
    const glowmcu_depthwise_patches_mve *p, const int8_t *in, int32_t in_top, int32_t oy,
    int32_t count, int32_t c, const int8_t *padding, glowmcu_depthwise_patches_mve_rows *rows)
{
    const int32_t row_bytes = p->in_width * p->channels;
    const int32_t step = (p->group == 16) ? p->channels : 16;
    const int32_t top = oy * p->stride_y - p->pad_top;
    const int32_t below = top + p->kernel_height + (count - 1) * p->stride_y;
    const int32_t end = (below < p->in_height) ? below : p->in_height;
    int32_t offset = (top - in_top) * row_bytes + c;

    if (top >= 0 && top + 4 <= end) {
        rows->rows[0] = in + offset;
        rows->rows[1] = in + offset + row_bytes;
        rows->rows[2] = in + offset + 2 * row_bytes;
        rows->rows[3] = in + offset + 3 * row_bytes;
        rows->steps[0] = step;
        rows->steps[1] = step;
        rows->steps[2] = step;
        rows->steps[3] = step;
    } else {
        for (int32_t i = 0; i < 4; ++i) {
            if (top + i >= 0 && top + i < end) {
                rows->rows[i] = in + offset;
                rows->steps[i] = step;
            } else {
                rows->rows[i] = padding;
                rows->steps[i] = 0;
            }
            offset += row_bytes;
        }
    }
}

/* What bands of all rows and channels have in common. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_patches_mve_prepare(
    const glowmcu_depthwise_patches_mve *p, glowmcu_depthwise_patches_mve_rows *rows,
    glowmcu_depthwise_patches_mve_band *band)
{
    const int32_t column = 4 * p->group;
    const int32_t last = 2 - (p->out_width & 1);

    rows->bytes = p->used_pixels * p->group;
    rows->vectors = (rows->bytes + 15) / GLOWMCU_DEPTHWISE_PATCHES_BYTES;
    band->column = column;
    band->pixel = p->channels;
    band->preshift = p->preshift;
    band->pair[0] = 2 * column;
    band->pair[1] = 2 * p->channels;
    band->last[0] = last * column;
    band->last[1] = last * p->channels;
    band->next[0] = 4 - (p->out_width - 2) * column;
    band->next[1] = 1 - (p->out_width - 2) * p->channels;
    band->middle = (p->out_width + 1) / 2 - 2;
}

/*
 * Output rows [first_row, end_row), a group of channels after another. Reads the input rows under
 * them, writes only those rows. `in` begins with the first of these input rows, `out` with row
 * first_row. Where a group would end behind the last channel it is read from before its first one
 * on. What results may overwrite: see reads_ahead.
 * `scratch`: a band of band_bytes, or two, and 16 bytes.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_patches_mve_s8(const glowmcu_depthwise_patches_mve *p,
    const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const int32_t in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t out_row = p->out_width * p->channels;
    const int32_t first_word = 4 * p->pad_left * p->group;
    const int32_t bands_bytes = (1 + p->reads_ahead) * p->band_bytes;
    glowmcu_depthwise_patches_mve_rows rows;
    glowmcu_depthwise_patches_mve_band band;

    glowmcu_mve_fill(scratch, p->in_zero_point, bands_bytes + GLOWMCU_DEPTHWISE_PATCHES_BYTES);
    glowmcu_depthwise_patches_mve_prepare(p, &rows, &band);
    for (int32_t c = 0; c < p->channels; c += p->group) {
        const int32_t left = p->channels - c;
        const int32_t read = (left < p->group) ? p->channels - p->group : c;
        int8_t *words = scratch;
        int8_t *others = scratch + p->reads_ahead * p->band_bytes;
        int32_t oy = first_row;
        int32_t count = 0; /* rows that were read; in the first turn there are none */

        band.weights = p->stream + 4 * c;
        band.constants = p->stream + 4 * p->channels + 1 + 2 * c;
        band.end = band.weights + 4 * (((left < p->group) ? left : p->group) + 1);
        band.out = out + c;
        while (oy < end_row) {
            const int32_t most = end_row - oy - count;
            int32_t next = (most < p->band_rows) ? most : p->band_rows;
            int8_t *const free_words = others;
            if (next > 0) {
                glowmcu_depthwise_patches_mve_find(
                    p, in, in_top, oy + count, next, read, scratch + bands_bytes, &rows);
                rows.words = others + first_word;
                glowmcu_depthwise_patches_mve_interleave(&rows);
                if (p->is_ragged != 0) {
                    const int32_t right = first_word + 4 * rows.bytes;
                    glowmcu_mve_fill(others + right, p->in_zero_point, p->band_bytes - right);
                }
            }
            if (p->reads_ahead == 0) {
                count = next;
                next = 0;
            }
            if (count > 0) {
                band.words = words + 4 * (c - read);
                band.row = (count > 1) ? out_row : 0;
                band.shift = (count > 1) ? 8 * p->stride_y : 0;
                glowmcu_depthwise_patches_mve_compute(&band);
                band.out += count * out_row;
            }
            others = words;
            words = free_words;
            oy += count;
            count = next;
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_PATCHES_MVE_H */

/*
 * glowmcu_depthwise_pair_mve.h: what the int8 depthwise convolutions share that compute two
 * pixels by eight channels at a time.
 *
 * The input rows under the windows are kept in scratch with their padding, each copied once. Where
 * channels are no multiple of 8, or pixels of 2, the last ones overlap and are computed again.
 */
#ifndef GLOWMCU_DEPTHWISE_PAIR_MVE_H
#define GLOWMCU_DEPTHWISE_PAIR_MVE_H

#include "glowmcu_scale_mve.h"

#define GLOWMCU_DEPTHWISE_PAIRS_ROWS 8

/* The pair functions read this struct by offsets. */
typedef struct {
    int32_t channels;      /* at least 8 */
    int32_t kernel_height; /* at most GLOWMCU_DEPTHWISE_PAIRS_ROWS */
    glowmcu_scale_mve scale;
    /*
     * For eight channels after eight: weights [kernel_height][kernel_width][8] of int8, then
     * constants of the scale, of even and of odd channels in turn.
     */
    const int32_t *stream;
    int32_t in_height;
    int32_t in_width;
    int32_t out_width; /* at least 2 */
    int32_t stride_y;
    int32_t stride_x;
    int32_t row_pixels; /* under an output row: (out_width - 1) * stride_x + kernel_width */
    int32_t pad_top;
    int32_t pad_left;
    int32_t is_padded; /* 0: no window reaches outside the image; then there is no scratch */
    int32_t in_zero_point;
    int32_t kernel_width;
} glowmcu_depthwise_pairs_mve;

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, channels) == 0, channels_at_0);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, kernel_height) == 4, height_at_4);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, scale.preshift) == 8, preshift_at_8);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, scale.clamp_min) == 12, clamp_at_12);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, scale.clamp_max) == 16, clamp_at_16);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, stream) == 20, stream_at_20);

/*
 * Where the pair functions begin, up to the window's rows, and how they end: results of q0 q1, even
 * and odd channels of the first pixel, and of q2 q3, of the second. `enter` is where r0 is still
 * the struct and may push words, which `leave` takes from the stack. In assembly because the four
 * sums, weights, pixels and products are all vector registers there are.
 *
 * r1 rows; r2 offset; r3 out; r4 channels; r5 stream; r9 channels left.
 */
#define GLOWMCU_DEPTHWISE_PAIR_MVE_BEGIN(enter) \
    "   push        {r4-r11, lr}\n" \
    "   vpush       {d8-d15}\n" \
    "   ldrd        r4, r6, [r0, #0]\n"     /* channels, kernel_height */ \
    "   ldrd        r10, r11, [r0, #8]\n"   /* preshift, clamp_min */ \
    "   ldrd        r12, r5, [r0, #16]\n"   /* clamp_max, stream */ \
    "   mov         r9, r4\n" \
    enter \
    "1: mov         r7, r1\n"               /* eight channels */ \
    "   vmov.i32    q0, #0\n" \
    "   vmov.i32    q1, #0\n" \
    "   vmov.i32    q2, #0\n" \
    "   vmov.i32    q3, #0\n"

#define GLOWMCU_DEPTHWISE_PAIR_MVE_END(leave) \
    "   cmp         r10, #0\n" \
    "   blt         5f\n" \
    "   vshl.s32    q0, r10\n"              /* floor form */ \
    "   vldrw.32    q4, [r5], #16\n" \
    "   vadd.i32    q0, q0, q4\n" \
    "   vldrw.32    q5, [r5], #16\n" \
    "   vshl.s32    q1, r10\n" \
    "   vldrw.32    q6, [r5], #16\n" \
    "   vadd.i32    q1, q1, q5\n" \
    "   vldrw.32    q7, [r5], #16\n" \
    "   vshl.s32    q2, r10\n" \
    "   vmulh.s32   q0, q0, q6\n" \
    "   vadd.i32    q2, q2, q4\n" \
    "   vmulh.s32   q2, q2, q6\n" \
    "   vshl.s32    q3, r10\n" \
    "   vmulh.s32   q1, q1, q7\n" \
    "   vadd.i32    q3, q3, q5\n" \
    "   vshrnb.i32  q0, q0, #16\n" \
    "   vshrnb.i32  q2, q2, #16\n" \
    "   vmulh.s32   q3, q3, q7\n" \
    "   vshrnt.i32  q0, q1, #16\n" \
    "   vqmovnb.s16 q0, q0\n" \
    "   vshrnt.i32  q2, q3, #16\n" \
    "   vqmovnb.s16 q2, q2\n" \
    "3: add         r7, r3, r4\n" \
    "   vstrb.16    q0, [r3], #8\n" \
    "   vstrb.16    q2, [r7]\n" \
    "   add         r2, r2, #8\n" \
    "   subs        r9, r9, #8\n" \
    "   ble         4f\n" \
    "   rsbs        r7, r9, #8\n" \
    "   ble         1b\n" \
    "   sub         r2, r2, r7\n"           /* the last eight overlap */ \
    "   sub         r3, r3, r7\n" \
    "   movs        r9, #8\n" \
    "   b           1b\n" \
    "4:" leave \
    "   vpop        {d8-d15}\n" \
    "   pop         {r4-r11, pc}\n" \
    "5: vldrw.32    q4, [r5], #16\n"        /* literal form */ \
    "   vldrw.32    q5, [r5], #16\n" \
    "   vldrw.32    q6, [r5], #16\n" \
    "   vldrw.32    q7, [r5], #16\n" \
    "   vadd.i32    q0, q0, q4\n" \
    "   vadd.i32    q1, q1, q5\n" \
    "   vadd.i32    q2, q2, q4\n" \
    "   vadd.i32    q3, q3, q5\n" \
    "   vqrdmulh.s32 q4, q0, q6\n" \
    "   vqrdmulh.s32 q5, q1, q7\n" \
    "   vqrdmulh.s32 q6, q2, q6\n" \
    "   vqrdmulh.s32 q7, q3, q7\n" \
    "   vshr.s32    q0, q0, #31\n" \
    "   vshr.s32    q1, q1, #31\n" \
    "   vshr.s32    q2, q2, #31\n" \
    "   vshr.s32    q3, q3, #31\n" \
    "   vadd.i32    q0, q0, q4\n" \
    "   vadd.i32    q1, q1, q5\n" \
    "   vadd.i32    q2, q2, q6\n" \
    "   vadd.i32    q3, q3, q7\n" \
    "   vldrw.32    q4, [r5], #16\n" \
    "   vldrw.32    q5, [r5], #16\n" \
    "   vldrw.32    q6, [r5], #16\n" \
    "   vldrw.32    q7, [r5], #16\n" \
    "   vadd.i32    q0, q0, q4\n" \
    "   vadd.i32    q1, q1, q5\n" \
    "   vadd.i32    q2, q2, q4\n" \
    "   vadd.i32    q3, q3, q5\n" \
    "   vshl.s32    q0, q0, q6\n" \
    "   vshl.s32    q1, q1, q7\n" \
    "   vshl.s32    q2, q2, q6\n" \
    "   vshl.s32    q3, q3, q7\n" \
    "   vdup.32     q4, r11\n" \
    "   vdup.32     q5, r12\n" \
    "   vmax.s32    q0, q0, q4\n" \
    "   vmax.s32    q1, q1, q4\n" \
    "   vmax.s32    q2, q2, q4\n" \
    "   vmax.s32    q3, q3, q4\n" \
    "   vmin.s32    q0, q0, q5\n" \
    "   vmin.s32    q1, q1, q5\n" \
    "   vmin.s32    q2, q2, q5\n" \
    "   vmin.s32    q3, q3, q5\n" \
    "   vmovnt.i32  q0, q1\n" \
    "   vmovnt.i32  q2, q3\n" \
    "   b           3b\n"

#else
/* Two pixels: `rows[ky] + offset` is the first one's left column. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_pair_mve_one(const glowmcu_depthwise_pairs_mve *p,
    const int8_t *const *rows, int32_t offset, int8_t *out)
{
    const int32_t *stream = p->stream;
    int32_t oc = 0;

    for (;;) {
        const int32_t *c = stream + 2 * p->kernel_height * p->kernel_width;
        for (int32_t i = 0; i < 16; ++i) {
            const int32_t pixel = i / 8;
            const int32_t lane = i % 8;
            const int8_t *w = (const int8_t *)stream + lane;
            int32_t sum = 0; /* within int32: the layer's comment has the bound */
            for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
                const int8_t *x = rows[ky] + offset + pixel * p->stride_x * p->channels + oc + lane;
                for (int32_t kx = 0; kx < p->kernel_width; ++kx, w += 8) {
                    sum += x[kx * p->channels] * *w;
                }
            }
            out[pixel * p->channels + oc + lane] = glowmcu_scale_mve_one(&p->scale, sum,
                c + 4 * (lane % 2) + lane / 2, 8);
        }
        if (oc + 8 >= p->channels) {
            break;
        }
        stream = c + 8 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);
        oc = (oc + 16 <= p->channels) ? oc + 8 : p->channels - 8;
    }
}

#endif

/* Row `iy`, inside the image or not, with row_pixels pixels; `in` begins with row `in_top`. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_pair_mve_fill(const glowmcu_depthwise_pairs_mve *p,
    const int8_t *in, int32_t in_top, int32_t iy, int8_t *row)
{
    const int32_t row_bytes = p->row_pixels * p->channels;
    const int32_t left = p->pad_left * p->channels;
    const int32_t image_row = p->in_width * p->channels;
    const int32_t inside = (image_row < row_bytes - left) ? image_row : row_bytes - left;

    if (iy < 0 || iy >= p->in_height) {
        glowmcu_mve_fill(row, p->in_zero_point, row_bytes);
        return;
    }
    glowmcu_mve_fill(row, p->in_zero_point, left);
    glowmcu_mve_copy(row + left, in + (iy - in_top) * image_row, inside);
    glowmcu_mve_fill(row + left + inside, p->in_zero_point, row_bytes - left - inside);
}

/* Points `rows` to the input rows of output row `oy`; copies those that it adds. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_pair_mve_rows(const glowmcu_depthwise_pairs_mve *p,
    const int8_t *in, int32_t first_row, int32_t oy, int8_t *scratch, const int8_t **rows)
{
    const int32_t height = p->kernel_height;
    const int32_t in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t top = oy * p->stride_y - p->pad_top;
    const int32_t row_bytes = p->row_pixels * p->channels;
    int32_t slot = (top + p->pad_top) % height; /* of the first row: as all rows, by its number */

    for (int32_t ky = 0; ky < height; ++ky) {
        int8_t *row = scratch + slot * row_bytes;
        if (!p->is_padded) {
            rows[ky] = in + (top + ky - in_top) * p->in_width * p->channels;
            continue;
        }
        if (oy == first_row || ky >= height - p->stride_y) {
            glowmcu_depthwise_pair_mve_fill(p, in, in_top, top + ky, row);
        }
        rows[ky] = row;
        slot = (slot + 1 < height) ? slot + 1 : 0;
    }
}

/* Two pixels: `rows[ky] + offset` is the first one's left column. */
typedef void (*glowmcu_depthwise_pair_mve)(const glowmcu_depthwise_pairs_mve *p,
    const int8_t *const *rows, int32_t offset, int8_t *out);

/*
 * Output rows [first_row, end_row) by `pair`. Reads the input rows under them, writes only those
 * rows. `in` begins with the first of these input rows, `out` with row first_row. Results may
 * overwrite input that nothing reads any more.
 * `scratch`: kernel_height rows of row_pixels pixels.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_depthwise_pair_mve_walk(
    const glowmcu_depthwise_pairs_mve *p, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row, glowmcu_depthwise_pair_mve pair)
{
    const int8_t *rows[GLOWMCU_DEPTHWISE_PAIRS_ROWS];

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        int8_t *row = out + (oy - first_row) * p->out_width * p->channels;
        glowmcu_depthwise_pair_mve_rows(p, in, first_row, oy, scratch, rows);
        for (int32_t ox = 0; ox < p->out_width; ox += 2) {
            const int32_t left = (ox + 2 <= p->out_width) ? ox : ox - 1;
            pair(p, rows, left * p->stride_x * p->channels, row + left * p->channels);
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_PAIR_MVE_H */

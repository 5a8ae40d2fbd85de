/*
 * glowmcu_strided_copy.h: moves elements of any size between two regular patterns of memory.
 *
 * Transposing, slicing, padding, joining, splitting, tiling: all are this.
 */
#ifndef GLOWMCU_STRIDED_COPY_H
#define GLOWMCU_STRIDED_COPY_H

#include <string.h>

#include "glowmcu_base.h"

#define GLOWMCU_STRIDED_COPY_LOOPS 8

typedef struct {
    int32_t unit_bytes;   /* bytes that lie together on both sides */
    int32_t in_first;     /* byte of the first unit */
    int32_t out_first;
    int32_t loop_count;   /* 0 to GLOWMCU_STRIDED_COPY_LOOPS */
    const int32_t *loops; /* [loop_count][3], outermost first: count, in step, out step in bytes */
} glowmcu_strided_copy;

/*
 * `count` units, of which only large ones are worth a call of memcpy. Where words may lie anywhere
 * compilers move those of four and two bytes as words.
 */
GLOWMCU_CODE
static inline void glowmcu_strided_copy_units(const uint8_t *in, uint8_t *out, const int32_t *loop,
    int32_t unit_bytes)
{
    const int32_t in_step = loop[1];
    const int32_t out_step = loop[2];
    int32_t left = loop[0];

    if (unit_bytes == 1) {
        for (; left >= 4; left -= 4) {
            const uint8_t first = in[0];
            const uint8_t second = in[in_step];
            const uint8_t third = in[2 * in_step];
            const uint8_t fourth = in[3 * in_step];
            out[0] = first;
            out[out_step] = second;
            out[2 * out_step] = third;
            out[3 * out_step] = fourth;
            in += 4 * in_step;
            out += 4 * out_step;
        }
    }
    for (; left > 0; --left) {
        if (unit_bytes >= 16) {
            (void)memcpy(out, in, (size_t)unit_bytes);
        } else if (unit_bytes == 4) {
            const uint8_t first = in[0];
            const uint8_t second = in[1];
            const uint8_t third = in[2];
            const uint8_t fourth = in[3];
            out[0] = first;
            out[1] = second;
            out[2] = third;
            out[3] = fourth;
        } else if (unit_bytes == 2) {
            const uint8_t first = in[0];
            const uint8_t second = in[1];
            out[0] = first;
            out[1] = second;
        } else {
            for (int32_t byte = 0; byte < unit_bytes; ++byte) {
                out[byte] = in[byte];
            }
        }
        in += in_step;
        out += out_step;
    }
}

/*
 * `loop_count` nested loops around units. Bytes that are read and bytes that are written may not
 * overlap.
 */
GLOWMCU_CODE
static void glowmcu_strided_copy_loops(const int32_t *loops, int32_t loop_count,
    int32_t unit_bytes, const void *from, void *to)
{
    const int32_t innermost = loop_count - 1;
    int32_t at[GLOWMCU_STRIDED_COPY_LOOPS] = {0};
    int32_t in_at = 0;
    int32_t out_at = 0;
    int32_t axis;

    if (innermost < 0) {
        (void)memcpy(to, from, (size_t)unit_bytes);
        return;
    }
    do {
        glowmcu_strided_copy_units((const uint8_t *)from + in_at, (uint8_t *)to + out_at,
            loops + 3 * innermost, unit_bytes);
        axis = innermost;
        while (--axis >= 0) {
            const int32_t *loop = loops + 3 * axis;
            in_at += loop[1];
            out_at += loop[2];
            if (++at[axis] < loop[0]) {
                break;
            }
            in_at -= loop[0] * loop[1];
            out_at -= loop[0] * loop[2];
            at[axis] = 0;
        }
    } while (axis >= 0);
}

/* A layer that is one copy. */
GLOWMCU_CODE
static inline void glowmcu_strided_copy_bytes(const glowmcu_strided_copy *p, const void *in,
    void *out)
{
    glowmcu_strided_copy_loops(p->loops, p->loop_count, p->unit_bytes,
        (const uint8_t *)in + p->in_first, (uint8_t *)out + p->out_first);
}

#endif /* GLOWMCU_STRIDED_COPY_H */

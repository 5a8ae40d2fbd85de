/*
 * glowmcu_narrow_mve.h: int8 convolutions with rows of windows of at most 16 bytes, as those of
 * images with few channels are: windows are gathered, some at a time, from rows that are padded.
 */
#ifndef GLOWMCU_NARROW_MVE_H
#define GLOWMCU_NARROW_MVE_H

#include "glowmcu_direct_rows_mve.h"

#define GLOWMCU_NARROW_MVE_WINDOWS 8

typedef struct {
    glowmcu_direct_mve direct; /* of gathered windows */
    int32_t part_bytes; /* of a row of a window, 1 to 16 */
    int32_t step_bytes; /* along a row, from window to window */
} glowmcu_narrow_mve;

/* A window's rows from `from` on, one after the other to `to`, and up to 15 bytes more. */
GLOWMCU_CODE
static inline void glowmcu_narrow_mve_gather(const glowmcu_narrow_mve *p, const int8_t *from,
    int8_t *to)
{
#if GLOWMCU_HAS_MVE
    __asm__ volatile(
        "   dls     lr, %4\n"
        "1: vldrb.8 q0, [%1]\n"
        "   add     %1, %2\n"
        "   vstrb.8 q0, [%0]\n"
        "   add     %0, %3\n"
        "   le      lr, 1b\n"
        : "+r"(to), "+r"(from)
        : "r"(p->direct.row_bytes), "r"(p->part_bytes), "r"(p->direct.kernel_height)
        : "lr", "q0", "memory");
#else
    for (int32_t ky = 0; ky < p->direct.kernel_height; ++ky) {
        (void)memcpy(to, from, (size_t)p->part_bytes);
        to += p->part_bytes;
        from += p->direct.row_bytes;
    }
#endif
}

/*
 * Output rows [first_row, end_row) by `windows`. Reads the input rows under them, writes only those
 * rows. `in` begins with the first of these input rows, `out` with row first_row. Results may
 * overwrite input that nothing reads any more.
 * `scratch`: GLOWMCU_NARROW_MVE_WINDOWS windows of direct.apart bytes and 16 bytes, then
 * direct.kernel_height rows of direct.row_bytes and 15 bytes.
 */
GLOWMCU_CODE
static void glowmcu_narrow_mve_rows(const glowmcu_narrow_mve *p, glowmcu_direct_mve_windows windows,
    const int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const glowmcu_direct_mve *direct = &p->direct;
    const int32_t apart = direct->apart;
    int8_t *const rows = scratch + GLOWMCU_NARROW_MVE_WINDOWS * apart + 16;
    int32_t count = 0;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const int8_t *window = rows;
        glowmcu_direct_mve_advance(direct, in, first_row, oy, rows);
        for (int32_t ox = direct->out_width; ox > 0; --ox) {
            glowmcu_narrow_mve_gather(p, window, scratch + count * apart);
            window += p->step_bytes;
            ++count;
            if (count == GLOWMCU_NARROW_MVE_WINDOWS) {
                windows(direct, scratch, out, count);
                out += count * direct->channels;
                count = 0;
            }
        }
    }
    if (count > 0) {
        windows(direct, scratch, out, count);
    }
}

#endif /* GLOWMCU_NARROW_MVE_H */

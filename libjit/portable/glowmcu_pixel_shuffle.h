/*
 * glowmcu_pixel_shuffle.h: an image whose pixels are blocks of a larger one, put where they belong.
 */
#ifndef GLOWMCU_PIXEL_SHUFFLE_H
#define GLOWMCU_PIXEL_SHUFFLE_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t stride;    /* rows of the result in a block */
    int32_t above;     /* rows of the first blocks that are none of the result */
    int32_t height;    /* rows of the result */
    int32_t row_bytes; /* of the result */
    int32_t width;     /* blocks in a row */
    int32_t piece;     /* bytes of a block in a row of the result */
    int32_t left;      /* bytes of the first block that are none of the row */
} glowmcu_pixel_shuffle;

/* A piece of each block to row `out` of the result, cut where the row begins and ends. */
GLOWMCU_CODE
static inline void glowmcu_shuffle_row(const glowmcu_pixel_shuffle *p, const int8_t *pieces,
    int8_t *out)
{
    const int8_t *from = pieces;
    int32_t at = -p->left;

    for (int32_t x = 0; x < p->width; ++x) {
        const int32_t start = (at < 0) ? 0 : at;
        const int32_t end = (at + p->piece > p->row_bytes) ? p->row_bytes : at + p->piece;

        if (start < end) {
            (void)memcpy(out + start, from + (start - at), (size_t)(end - start));
        }
        from += p->stride * p->piece;
        at += p->piece;
    }
}

/* Rows [first, end) of blocks, which lie at `blocks`, to the result at `out`. */
GLOWMCU_CODE
static inline void glowmcu_shuffle_rows(const glowmcu_pixel_shuffle *p, const int8_t *blocks,
    int8_t *out, int32_t first, int32_t end)
{
    const int8_t *from = blocks;

    for (int32_t y = first; y < end; ++y) {
        for (int32_t i = 0; i < p->stride; ++i) {
            const int32_t row = y * p->stride + i - p->above;

            if (row >= 0 && row < p->height) {
                glowmcu_shuffle_row(p, from + i * p->piece, out + row * p->row_bytes);
            }
        }
        from += p->width * p->stride * p->piece;
    }
}

#endif /* GLOWMCU_PIXEL_SHUFFLE_H */

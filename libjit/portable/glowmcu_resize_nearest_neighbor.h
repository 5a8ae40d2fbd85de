/*
 * glowmcu_resize_nearest_neighbor.h: resizing of NHWC images by copies of whole pixels.
 */
#ifndef GLOWMCU_RESIZE_NEAREST_NEIGHBOR_H
#define GLOWMCU_RESIZE_NEAREST_NEIGHBOR_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t in_width;
    int32_t out_width;
    int32_t pixel_bytes;
    const int16_t *rows;    /* source row of every output row */
    const int16_t *columns; /* source column of every output column */
} glowmcu_resize_nearest_params;

/*
 * Output rows [first_row, end_row). Reads the rows that they repeat, writes only those rows. `in`
 * begins with the first row that is repeated, `out` with row first_row; results may
 * overwrite rows that are repeated no more. Any element type.
 */
GLOWMCU_CODE
static void glowmcu_resize_nearest_neighbor(const glowmcu_resize_nearest_params *p,
    const void *in, void *out, int32_t first_row, int32_t end_row)
{
    const size_t bytes = (size_t)p->pixel_bytes;
    const int32_t in_row = (first_row > 0) ? p->rows[first_row] : 0;
    uint8_t *pixel = (uint8_t *)out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const uint8_t *row = (const uint8_t *)in
            + (size_t)((p->rows[oy] - in_row) * p->in_width) * bytes;
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            (void)memcpy(pixel, row + (size_t)p->columns[ox] * bytes, bytes);
            pixel += bytes;
        }
    }
}

#endif /* GLOWMCU_RESIZE_NEAREST_NEIGHBOR_H */

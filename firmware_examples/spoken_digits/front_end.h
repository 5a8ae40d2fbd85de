/*
 * front_end.h: what the network hears of a frame of sound: energies of mel bands, in integers.
 *
 * The same as examples/spoken_digits/front_end.py, bit for bit: the network was trained on it.
 */
#ifndef FRONT_END_H
#define FRONT_END_H

#include <stdint.h>

#include "front_end_tables.h" /* FRONT_END_FRAME, _HOP, _BANDS and the tables, written by make_data.py */

typedef struct {
    int32_t re[FRONT_END_FRAME];
    int32_t im[FRONT_END_FRAME];
} front_end_work;

/* Features of FRONT_END_FRAME samples: 16 * log2(energy) of each band, less a constant. */
void front_end(front_end_work *work, const int16_t *samples, int8_t *features);

#endif

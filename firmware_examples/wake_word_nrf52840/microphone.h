/*
 * microphone.h: sound at 16 kHz in halves of a double buffer: one is filled while the other is heard.
 *
 * microphone_pdm.c drives the nRF52840's PDM; microphone_playback.c plays a recording where there is none.
 */
#ifndef MICROPHONE_H
#define MICROPHONE_H

#include <stdint.h>

#define MICROPHONE_RATE 16000
#define MICROPHONE_HALF 160 /* samples: 10 ms */

/* Begins to fill the first half. Interrupts are enabled when it returns. */
void microphone_start(void);

/* Sleeps until a half is full and gives it: the caller's, for the 10 ms that the other one takes. */
const int16_t *microphone_next(void);

/* How many halves were overwritten before they were given. */
int32_t microphone_lost(void);

/* Whether all has been given: a microphone never ends, a recording does. */
int microphone_has_ended(void);

/* For drivers, in their interrupt: the half to fill after the one that is filled now; a half is full. */
int16_t *microphone_half_to_fill(void);
void microphone_half_is_full(void);

#endif

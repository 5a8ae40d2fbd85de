/* window.h: the newest steps, quantized as the model wants them. */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdint.h>

#define WINDOW_STEPS 25
#define WINDOW_CHANNELS 6

typedef struct {
    int8_t steps[WINDOW_STEPS][WINDOW_CHANNELS]; /* a ring: the oldest is at `next` once it is full */
    int next;
    int count;
} window;

void window_add(window *w, const int16_t motion[WINDOW_CHANNELS]);

/* Copies the steps, oldest first. Returns 0 while there are fewer than WINDOW_STEPS. */
int window_copy(const window *w, int8_t *to);

#endif

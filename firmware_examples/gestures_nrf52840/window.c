/* window.c: see window.h. */
#include "window.h"

#include <string.h>

#include "gestures.h"

#define COUNTS_PER_UNIT 1024 /* of the sensor */

/* The model's steps in a sensor count, times 2^16: the compiler computes it, the firmware needs no floating point. */
#define STEPS_PER_COUNT ((int32_t)(65536.0 / (COUNTS_PER_UNIT * (double)GESTURES_INPUT_SCALE) + 0.5))

static int8_t quantized(int16_t counts)
{
    const int32_t value = ((counts * STEPS_PER_COUNT + (1 << 15)) >> 16) + GESTURES_INPUT_ZERO_POINT;

    return (int8_t)((value < -128) ? -128 : (value > 127) ? 127 : value);
}

void window_add(window *w, const int16_t motion[WINDOW_CHANNELS])
{
    for (int channel = 0; channel < WINDOW_CHANNELS; ++channel) {
        w->steps[w->next][channel] = quantized(motion[channel]);
    }
    w->next = (w->next + 1) % WINDOW_STEPS;
    w->count += (w->count < WINDOW_STEPS) ? 1 : 0;
}

int window_copy(const window *w, int8_t *to)
{
    const size_t older = sizeof w->steps[0] * (size_t)(WINDOW_STEPS - w->next);

    if (w->count < WINDOW_STEPS) {
        return 0;
    }
    memcpy(to, w->steps[w->next], older);
    memcpy(to + older, w->steps[0], sizeof w->steps - older);
    return 1;
}

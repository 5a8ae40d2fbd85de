/*
 * main.c: two models take turns in one arena. Motion is collected all the time; whenever there are enough
 * steps the gesture model runs, and between its runs digits are read.
 *
 * What a model leaves in the arena is gone when the other one runs: outputs are read at once.
 */
#include <string.h>

#include "digits.h"
#include "gestures.h"
#include "print.h"
#include "samples.h"
#include "sensor.h"
#include "window.h"

#define HOP_STEPS 5

static GLOWMCU_SHARED_ARENA(arena, DIGITS_ARENA_BYTES, GESTURES_ARENA_BYTES);
static window motion;

static int best_of(const int8_t *scores, int count)
{
    int best = 0;

    for (int i = 1; i < count; ++i) {
        best = (scores[i] > scores[best]) ? i : best;
    }
    return best;
}

/* -1 where the model did not run. */
static int read_digit(const int8_t *pixels)
{
    memcpy(digits_input(arena), pixels, DIGITS_INPUT_BYTES);
    if (digits_run(arena) != 0) {
        return -1;
    }
    return best_of(digits_output(arena), (int)DIGITS_OUTPUT_LENGTH);
}

/* The gesture of the newest steps; -1 while there are too few, or where the model did not run. */
static int read_gesture(void)
{
    if (!window_copy(&motion, gestures_input(arena))) {
        return -1;
    }
    if (gestures_run(arena) != 0) {
        return -1;
    }
    return best_of(gestures_output(arena), (int)GESTURES_OUTPUT_LENGTH);
}

static void report(const char *what, int right, int count)
{
    print_text(what);
    print_text(": ");
    print_number(right);
    print_text(" of ");
    print_number(count);
    print_text(" right\n");
}

int main(void)
{
    sensor_step step;
    int windows = 0, right_windows = 0, digits = 0, right_digits = 0;

    for (int steps = 1; sensor_read(&step); ++steps) {
        window_add(&motion, step.motion);
        if (steps % HOP_STEPS == 0) {
            const int gesture = read_gesture();

            windows += (gesture >= 0) ? 1 : 0;
            right_windows += (gesture == step.gesture) ? 1 : 0;
        } else if (steps % HOP_STEPS == 2) {
            const int sample = digits % SAMPLE_COUNT;

            ++digits;
            right_digits += (read_digit(sample_pixels[sample]) == sample_labels[sample]) ? 1 : 0;
        }
    }
    report("digits", right_digits, digits);
    report("gestures", right_windows, windows);
    print_text((sizeof arena < DIGITS_ARENA_BYTES + GESTURES_ARENA_BYTES) ? "one arena\n" : "two\n");
    print_text("done\n");
    return 0;
}

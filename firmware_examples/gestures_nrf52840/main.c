/*
 * main.c: what does the wearer of a motion sensor do? A window of 2.5 s slides over the measurements, the
 * model sees it every half second, and a gesture counts when two answers in a row agree.
 */
#include "gestures.h"
#include "print.h"
#include "sensor.h"
#include "window.h"

#define STEPS_A_SECOND 10
#define HOP_STEPS 5

static const char *const names[GESTURES_OUTPUT_LENGTH] = { "pendulum", "abduction", "pull", "row" };

static GESTURES_ARENA(arena);
static window motion;

/*
 * The gesture of the last WINDOW_STEPS steps, its score in percent; -1 while there are too few, or where the
 * model did not run.
 */
static int recognize(int *percent)
{
    const int8_t *scores = gestures_output(arena);
    int best = 0;

    if (!window_copy(&motion, gestures_input(arena))) {
        return -1;
    }
    if (gestures_run(arena) != 0) {
        return -1;
    }
    for (int gesture = 1; gesture < (int)GESTURES_OUTPUT_LENGTH; ++gesture) {
        if (scores[gesture] > scores[best]) {
            best = gesture;
        }
    }
    *percent = (scores[best] - GESTURES_OUTPUT_ZERO_POINT) * 100 / 256;
    return best;
}

static void report(int steps, int gesture, int percent)
{
    print_number(steps / STEPS_A_SECOND);
    print_text(".");
    print_number(steps % STEPS_A_SECOND);
    print_text(" s: ");
    print_text(names[gesture]);
    print_text(", ");
    print_number(percent);
    print_text(" %\n");
}

int main(void)
{
    sensor_step step;
    int before = -1, shown = -1;
    int windows = 0, right = 0;

    for (int steps = 1; sensor_read(&step); ++steps) {
        int gesture = -1, percent = 0;

        window_add(&motion, step.motion);
        if (steps % HOP_STEPS == 0) {
            gesture = recognize(&percent);
        }
        if (gesture < 0) {
            continue;
        }
        ++windows;
        right += (gesture == step.gesture) ? 1 : 0;
        if (gesture == before && gesture != shown) {
            report(steps, gesture, percent);
            shown = gesture;
        }
        before = gesture;
    }
    print_number(right);
    print_text(" of ");
    print_number(windows);
    print_text(" windows right\ndone\n");
    return 0;
}

/*
 * main.c: waits for "hey firefly". The microphone fills one half of a buffer, 10 ms, while the pipeline hears
 * the other: a front end for each 10 ms, a network for each 30 ms, a decision.
 */
#include "microphone.h"
#include "print.h"
#include "wake_word.h"

static WAKE_WORD_ARENA(arena);

static void print_seconds(int32_t samples)
{
    const int32_t hundredths = samples / (MICROPHONE_RATE / 100);

    print_number(hundredths / 100);
    print_text((hundredths % 100 < 10) ? ".0" : ".");
    print_number(hundredths % 100);
    print_text(" s: ");
}

/* Hears a half; the samples heard so far are told with each detection. Not 0 where the pipeline did not run. */
static int32_t hear(const int16_t *half, int32_t samples)
{
    const int32_t results = wake_word_push(arena, half, MICROPHONE_HALF);

    if (results > 0 && *wake_word_output_decision(arena) >= 0) {
        print_seconds(samples);
        print_text("hey firefly\n");
    }
    return (results < 0) ? results : 0;
}

int main(void)
{
    int32_t samples = 0, status = wake_word_reset(arena);

    microphone_start();
    while (status == 0 && !microphone_has_ended()) {
        const int16_t *const half = microphone_next();

        samples += MICROPHONE_HALF;
        status = hear(half, samples);
    }
    print_seconds(samples);
    print_number(microphone_lost());
    print_text(" halves lost, status ");
    print_number(status);
    print_text("\ndone\n");
    return 0;
}

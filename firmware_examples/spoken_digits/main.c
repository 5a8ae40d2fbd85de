/*
 * main.c: which digits are spoken? Sound comes in blocks of 16 ms; each becomes a frame of features, the model
 * sees the newest 24 frames after every second one, and a digit counts when the model is sure several times.
 */
#include <string.h>

#include "front_end.h"
#include "print.h"
#include "sound.h"
#include "spoken_digits.h"

#define FRAMES (SPOKEN_DIGITS_INPUT_LENGTH / FRONT_END_BANDS)
#define FRAMES_A_RUN 2
#define OTHER 10        /* the class of all that is no digit */
#define SURE 205        /* of 255: 80 % */
#define SURE_RUNS 3     /* so often in a row */
#define QUIET_FRAMES 25 /* after a digit: 0.4 s */

static SPOKEN_DIGITS_ARENA(arena);
static front_end_work work;
static int16_t samples[FRONT_END_FRAME];
static int8_t frames[FRAMES][FRONT_END_BANDS]; /* the newest last */

/* The next block of sound: here played back, on a board what the microphone's DMA has filled. */
static int next_block(int16_t *block)
{
    static int32_t next;

    if (next + FRONT_END_HOP > SOUND_SAMPLES) {
        return 0;
    }
    for (int i = 0; i < FRONT_END_HOP; ++i) {
        block[i] = (int16_t)(sound[next + i] * 256);
    }
    next += FRONT_END_HOP;
    return 1;
}

/* A feature as the model stores it: 2^16 times its steps are computed by the compiler. */
static int8_t quantized(int8_t feature)
{
    const int32_t steps = (int32_t)(65536.0 / (double)SPOKEN_DIGITS_INPUT_SCALE + 0.5);
    const int32_t value = ((feature * steps + (1 << 15)) >> 16) + SPOKEN_DIGITS_INPUT_ZERO_POINT;

    return (int8_t)((value < -128) ? -128 : (value > 127) ? 127 : value);
}

/* One more frame from the newest samples. */
static void hear(void)
{
    int8_t *newest = frames[FRAMES - 1];

    memmove(frames[0], frames[1], sizeof frames - sizeof frames[0]);
    front_end(&work, samples, newest);
    for (int band = 0; band < FRONT_END_BANDS; ++band) {
        newest[band] = quantized(newest[band]);
    }
}

/* The class of the newest frames; OTHER unless the model ran and is sure. */
static int recognize(void)
{
    const int8_t *scores = spoken_digits_output(arena);

    memcpy(spoken_digits_input(arena), frames, sizeof frames);
    if (spoken_digits_run(arena) != 0) {
        return OTHER;
    }
    for (int digit = 0; digit < OTHER; ++digit) {
        if (scores[digit] - SPOKEN_DIGITS_OUTPUT_ZERO_POINT >= SURE) {
            return digit;
        }
    }
    return OTHER;
}

static void report(int32_t blocks, int digit)
{
    const int32_t hundredths = blocks * FRONT_END_HOP / (8000 / 100);

    print_number(hundredths / 100);
    print_text((hundredths % 100 < 10) ? ".0" : ".");
    print_number(hundredths % 100);
    print_text(" s: ");
    print_number(digit);
    print_text("\n");
}

int main(void)
{
    int before = OTHER, times = 0;
    int32_t quiet = FRAMES; /* frames until a digit is listened to again */
    int8_t heard[32];
    int count = 0;

    for (int32_t blocks = 1; next_block(samples + FRONT_END_FRAME - FRONT_END_HOP); ++blocks) {
        hear();
        memmove(samples, samples + FRONT_END_HOP, sizeof samples - FRONT_END_HOP * sizeof *samples);
        quiet -= (quiet > 0) ? 1 : 0;
        if (quiet == 0 && blocks % FRAMES_A_RUN == 0) {
            const int digit = recognize();

            times = (digit == before && digit != OTHER) ? times + 1 : 1;
            before = digit;
            if (digit != OTHER && times == SURE_RUNS && count < (int)sizeof heard) {
                report(blocks, digit);
                heard[count++] = (int8_t)('0' + digit);
                quiet = QUIET_FRAMES;
                before = OTHER;
            }
        }
    }
    print_text("said  " SOUND_TEXT "\nheard ");
    for (int i = 0; i < count; ++i) {
        print_number(heard[i] - '0');
    }
    print_text("\ndone\n");
    return 0;
}

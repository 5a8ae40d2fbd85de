/*
 * main.c: digits are read with the model that the board came with; then a newer one arrives and is
 * installed without touching the code. Nothing is run on constants that fail their check.
 */
#include <string.h>

#include "digits.h"
#include "flash.h"
#include "model.h"
#include "print.h"
#include "samples.h"

static DIGITS_ARENA(arena);

/* -1 where the model did not run. */
static int classify(const int8_t *pixels)
{
    const int8_t *scores = digits_output(arena);
    int best = 0;

    memcpy(digits_input(arena), pixels, DIGITS_INPUT_BYTES);
    if (digits_run(arena) != 0) {
        return -1;
    }
    for (int digit = 1; digit < (int)DIGITS_OUTPUT_LENGTH; ++digit) {
        if (scores[digit] > scores[best]) {
            best = digit;
        }
    }
    return best;
}

static void report(const char *what, const model_header *model, model_state state)
{
    print_text(what);
    print_text(" model, version ");
    print_number((int32_t)model->version);
    print_text(": ");
    print_text(model_state_name(state));
    print_text("\n");
}

/* Checks the installed model, then reads all samples with it. */
static void read_digits(void)
{
    const model_state state = model_check(&model_installed);
    int right = 0;
    uint32_t sum = 0;

    report("installed", &model_installed, state);
    if (state != MODEL_GOOD) {
        print_text("not run\n");
        return;
    }
    for (int i = 0; i < SAMPLE_COUNT; ++i) {
        right += (classify(sample_pixels[i]) == sample_labels[i]) ? 1 : 0;
        for (int digit = 0; digit < (int)DIGITS_OUTPUT_LENGTH; ++digit) {
            sum = sum * 31u + (uint8_t)digits_output(arena)[digit];
        }
    }
    print_number(right);
    print_text(" of ");
    print_number(SAMPLE_COUNT);
    print_text(" right, scores ");
    print_hex(sum);
    print_text("\n");
}

/* What a failing flash or a cut transfer does: one bit is wrong. */
static void flip_a_bit(const model_header *model)
{
    const uint8_t *victim = (const uint8_t *)(model + 1) + model->bytes / 2u;
    const uint8_t damaged = *victim ^ 4u;

    flash_write(victim, &damaged, 1u);
}

int main(void)
{
    read_digits();

    flip_a_bit(&model_received);
    report("received", &model_received, model_install());
    read_digits();

    flip_a_bit(&model_received); /* sent again */
    report("received", &model_received, model_install());
    read_digits();

    flip_a_bit(&model_installed);
    read_digits();
    print_text("done\n");
    return 0;
}

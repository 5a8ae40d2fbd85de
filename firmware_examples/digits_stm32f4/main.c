/*
 * main.c: read handwritten digits and print what was read.
 *
 * Everything that has to do with the model is in classify(); the rest is this board.
 */
#include <string.h>

#include "digits.h"
#include "print.h"
#include "samples.h"

static DIGITS_ARENA(arena);

/*
 * The digit (0 to 9) whose score is highest; -1 where the model did not run. `pixels` are 8 x 8, int8,
 * as the model wants them.
 */
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

int main(void)
{
    int right = 0;

    for (int i = 0; i < SAMPLE_COUNT; ++i) {
        const int digit = classify(sample_pixels[i]);
        print_text("is ");
        print_number(sample_labels[i]);
        print_text(", read ");
        print_number(digit);
        print_text("\n");
        right += (digit == sample_labels[i]) ? 1 : 0;
    }
    print_number(right);
    print_text(" of ");
    print_number(SAMPLE_COUNT);
    print_text(" right\ndone\n");
    return 0;
}

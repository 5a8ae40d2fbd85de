/*
 * Runs a bundle once on the bytes of stdin and writes what its observer is told: a letter, the
 * step, for a tensor its number in the step, the first byte, how many bytes, and these.
 * MODEL_H is its header, STEPS its table. With PUSHED its input comes in two parts.
 */
#include <stdio.h>
#include <string.h>

#include MODEL_H

static int is_quiet;

static void put(const void *data, size_t bytes)
{
    fwrite(data, 1, bytes, stdout);
}

static void put_step(char letter, const glowmcu_step *step)
{
    const int32_t index = (int32_t)(step - STEPS);

    if (!is_quiet) {
        put(&letter, 1);
        put(&index, sizeof index);
    }
}

static void on_before(void *context, const glowmcu_step *step)
{
    ++*(int *)context;
    put_step('b', step);
}

static void on_after(void *context, const glowmcu_step *step)
{
    ++*(int *)context;
    put_step('a', step);
}

static void on_tensor(void *context, const glowmcu_step *step, const glowmcu_tensor *tensor,
    const void *data, uint32_t first_byte, uint32_t bytes)
{
    const uint32_t numbers[3] = { (uint32_t)(tensor - step->outputs), first_byte, bytes };

    ++*(int *)context;
    put_step('t', step);
    put(numbers, sizeof numbers);
    put(data, bytes);
}

static ARENA(arena);
static uint8_t input[65536];

static void run(size_t size)
{
#ifdef PUSHED
    const int32_t early = ROWS / 2;

    START(arena);
    (void)PUSHED(arena, (const int8_t *)input, early);
    (void)PUSHED(arena, (const int8_t *)input + size / ROWS * (size_t)early, ROWS - early);
#else
    memcpy(arena + INPUT_OFFSET, input, size);
    RUN(arena);
#endif
}

int main(void)
{
    int told = 0;
    const glowmcu_observer everything = { on_before, on_after, on_tensor, &told };
    const glowmcu_observer nothing = { NULL, NULL, NULL, NULL };
    const size_t size = fread(input, 1, sizeof input, stdin);

    run(size); /* nobody was ever set */
    OBSERVE(&nothing);
    run(size);
    OBSERVE(&everything);
    run(size);
    OBSERVE(NULL);
    is_quiet = told;
    told = 0;
    run(size);
    return told;
}

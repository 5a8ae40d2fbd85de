/*
 * A runner that knows models as data only: what `<name>_model.h` is for.
 *
 *   generic_runner NAME INPUTS OUTPUTS
 *
 * INPUTS holds any number of input sets, each all inputs of the model in order; OUTPUTS receives as
 * many output sets. The arena is allocated at exactly the size that the model states, so that a
 * sanitizer sees the first byte beside it. MODEL_LIST defines `models`, an array that ends in NULL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glowmcu_model.h"
#include MODEL_LIST

static int fail(const char *what)
{
    fprintf(stderr, "generic_runner: %s\n", what);
    return 2;
}

static const glowmcu_model *find(const char *name)
{
    for (int i = 0; models[i] != NULL; ++i) {
        if (strcmp(models[i]->name, name) == 0) {
            return models[i];
        }
    }
    return NULL;
}

/* 1 when a whole input set was read, 0 at the end of the file, -1 inside a set. */
static int read_inputs(const glowmcu_model *model, uint8_t *arena, FILE *file)
{
    for (uint32_t i = 0; i < model->input_count; ++i) {
        const glowmcu_tensor *tensor = &model->inputs[i];
        const size_t got = fread(arena + tensor->offset, 1, tensor->bytes, file);

        if (got != tensor->bytes) {
            return (i == 0 && got == 0) ? 0 : -1;
        }
    }
    return 1;
}

static int write_outputs(const glowmcu_model *model, const uint8_t *arena, FILE *file)
{
    for (uint32_t i = 0; i < model->output_count; ++i) {
        const glowmcu_tensor *tensor = &model->outputs[i];

        if (fwrite(arena + tensor->offset, 1, tensor->bytes, file) != tensor->bytes) {
            return -1;
        }
    }
    return 1;
}

static int run_all(const glowmcu_model *model, uint8_t *arena, FILE *in, FILE *out)
{
    for (;;) {
        int state;

        memset(arena, 0xA5, model->arena_bytes);
        state = read_inputs(model, arena, in);
        if (state <= 0) {
            return state == 0 ? 0 : fail("the inputs end inside a set");
        }
        model->run(arena);
        if (write_outputs(model, arena, out) < 0) {
            return fail("cannot write outputs");
        }
        if (model->input_count == 0) {
            return 0; /* one set: there is no end of inputs to wait for */
        }
    }
}

int main(int argc, char **argv)
{
    const glowmcu_model *model = argc == 4 ? find(argv[1]) : NULL;
    uint8_t *arena;
    FILE *in;
    FILE *out;
    int status;

    if (model == NULL) {
        return fail("usage: generic_runner NAME INPUTS OUTPUTS");
    }
    arena = (uint8_t *)aligned_alloc(model->arena_align, model->arena_bytes);
    in = fopen(argv[2], "rb");
    out = fopen(argv[3], "wb");
    if (arena == NULL || in == NULL || out == NULL) {
        return fail("cannot open the files");
    }
    status = run_all(model, arena, in, out);
    fclose(in);
    fclose(out);
    free(arena);
    return status;
}

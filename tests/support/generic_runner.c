/*
 * A runner that knows models as data only: what `<name>_model.h` is for.
 *
 *   generic_runner NAME INPUTS OUTPUTS
 *
 * INPUTS holds any number of input sets, each all inputs of the model in order; OUTPUTS receives as
 * many output sets. A streamed input is pushed a row at a time, each from memory of its own. The
 * arena and inputs outside of it are allocated at exactly the sizes that the model states, so that a
 * sanitizer sees the first byte beside them. MODEL_LIST defines `models`, `streamed_models` and
 * `outside_models`, arrays that end in NULL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glowmcu_outside_model.h"
#include "glowmcu_streamed_model.h"
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
    for (int i = 0; streamed_models[i] != NULL; ++i) {
        if (strcmp(streamed_models[i]->model.name, name) == 0) {
            return &streamed_models[i]->model;
        }
    }
    for (int i = 0; outside_models[i] != NULL; ++i) {
        if (strcmp(outside_models[i]->model.name, name) == 0) {
            return &outside_models[i]->model;
        }
    }
    return NULL;
}

static const glowmcu_outside_model *with_outside(const glowmcu_model *model)
{
    for (int i = 0; outside_models[i] != NULL; ++i) {
        if (&outside_models[i]->model == model) {
            return outside_models[i];
        }
    }
    return NULL;
}

/* NULL for a model whose inputs are all in the arena. */
static const glowmcu_streamed_model *streamed(const glowmcu_model *model)
{
    for (int i = 0; streamed_models[i] != NULL; ++i) {
        if (&streamed_models[i]->model == model) {
            return streamed_models[i];
        }
    }
    return NULL;
}

static int push(const glowmcu_streamed_model *model, uint8_t *arena, const uint8_t *whole)
{
    int32_t wanted = model->rows;

    model->start(arena);
    for (int32_t row = 0; row < model->rows && wanted >= 0; ++row) {
        uint8_t *const copy = (uint8_t *)malloc(model->row_bytes);

        if (copy == NULL) {
            return -1;
        }
        memcpy(copy, whole + (size_t)row * model->row_bytes, model->row_bytes);
        wanted = model->push_rows(arena, copy, 1);
        free(copy);
    }
    return (wanted == 0) ? 1 : -1;
}

/* 1 when a whole input set was read, 0 at the end of the file, -1 inside a set. */
static int read_inputs(const glowmcu_model *model, uint8_t *arena, void **own, FILE *file)
{
    for (uint32_t i = 0; i < model->input_count; ++i) {
        const glowmcu_tensor *tensor = &model->inputs[i];
        void *const place = own[i] != NULL ? own[i] : arena + tensor->offset;
        const size_t got = fread(place, 1, tensor->bytes, file);

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

/* Memory of the application's for the inputs that the arena has no place for; NULL for the others. */
static void **own_inputs(const glowmcu_model *model)
{
    void **const own = (void **)calloc(model->input_count + 1u, sizeof *own);

    for (uint32_t i = 0; own != NULL && i < model->input_count; ++i) {
        if (model->inputs[i].offset == GLOWMCU_NOT_IN_ARENA) {
            own[i] = malloc(model->inputs[i].bytes);
        }
    }
    return own;
}

/* One inference; negative where the rows of the streamed input are not what it takes. */
static int infer(const glowmcu_model *model, uint8_t *arena, void *const *own)
{
    const glowmcu_streamed_model *const rows = streamed(model);
    const glowmcu_outside_model *const outside = with_outside(model);

    if (rows != NULL) {
        return push(rows, arena, (const uint8_t *)own[rows->input]);
    }
    if (outside != NULL) {
        return outside->run_from(arena, (const void *const *)own);
    }
    return model->run(arena);
}

static int run_all(const glowmcu_model *model, uint8_t *arena, void **own, FILE *in, FILE *out)
{
    for (;;) {
        int state;

        memset(arena, 0xA5, model->arena_bytes);
        state = read_inputs(model, arena, own, in);
        if (state <= 0) {
            return state == 0 ? 0 : fail("the inputs end inside a set");
        }
        if (infer(model, arena, own) < 0) {
            return fail("the rows of the streamed input are not what it takes");
        }
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
    void **own;
    FILE *in;
    FILE *out;
    int status;

    if (model == NULL) {
        return fail("usage: generic_runner NAME INPUTS OUTPUTS");
    }
    arena = (uint8_t *)aligned_alloc(model->arena_align, model->arena_bytes);
    own = own_inputs(model);
    in = fopen(argv[2], "rb");
    out = fopen(argv[3], "wb");
    if (arena == NULL || own == NULL || in == NULL || out == NULL) {
        return fail("cannot open the files");
    }
    status = run_all(model, arena, own, in, out);
    fclose(in);
    fclose(out);
    for (uint32_t i = 0; i < model->input_count; ++i) {
        free(own[i]);
    }
    free((void *)own);
    free(arena);
    return status;
}

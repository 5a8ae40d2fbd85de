/*
 * glowmcu_model.h: a bundle as data, for runners that do not know the model when they are written.
 */
#ifndef GLOWMCU_MODEL_H
#define GLOWMCU_MODEL_H

#include "glowmcu_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GLOWMCU_I8,
    GLOWMCU_UI8,
    GLOWMCU_I16,
    GLOWMCU_I32,
    GLOWMCU_I64,
    GLOWMCU_F32,
    GLOWMCU_BOOL,
    GLOWMCU_UI32,
    GLOWMCU_UI64
} glowmcu_element;

/* The offset of a tensor that has no place in the arena. */
#define GLOWMCU_NOT_IN_ARENA 0xFFFFFFFFu

/* An input or output: `bytes` at `offset` of the arena. real = scale * (stored - zero_point). */
typedef struct {
    const char *name;
    const int32_t *shape; /* [rank] */
    int32_t rank;
    glowmcu_element element;
    float scale; /* 0 where the tensor is not quantized */
    int32_t zero_point;
    uint32_t offset;
    uint32_t bytes;
} glowmcu_tensor;

typedef struct {
    const char *name;
    const char *model_sha256;
    uint32_t arena_bytes;
    uint32_t arena_align;
    uint32_t step_count;
    const glowmcu_tensor *inputs; /* [input_count] */
    uint32_t input_count;
    const glowmcu_tensor *outputs; /* [output_count] */
    uint32_t output_count;
    int32_t (*run)(void *arena); /* 0, or negative where nothing was done */
    /* Begins a stream, before its first run; NULL where nothing lives from run to run. */
    int32_t (*reset)(void *arena);
    /*
     * The next `count` samples, elements of inputs[0]; returns how many results are new, or a
     * negative number. NULL unless the bundle is a pipeline.
     */
    int32_t (*push)(void *arena, const void *samples, size_t count);
} glowmcu_model;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GLOWMCU_MODEL_H */

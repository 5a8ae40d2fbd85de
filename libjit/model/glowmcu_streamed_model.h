/*
 * glowmcu_streamed_model.h: a bundle as data whose input comes row by row.
 */
#ifndef GLOWMCU_STREAMED_MODEL_H
#define GLOWMCU_STREAMED_MODEL_H

#include "glowmcu_model.h"

/*
 * `model.run` is NULL: an inference is `start`, then `push_rows` of input number `input`, which has
 * `rows` rows of `row_bytes`, until that returns 0; a negative number is an error. The other
 * inputs are to be written before the first row.
 */
typedef struct {
    glowmcu_model model;
    uint32_t input;
    int32_t rows;
    uint32_t row_bytes;
    void (*start)(void *arena);
    int32_t (*push_rows)(void *arena, const void *input_rows, int32_t count);
} glowmcu_streamed_model;

#endif /* GLOWMCU_STREAMED_MODEL_H */

/*
 * glowmcu_outside_model.h: a bundle as data that reads inputs where the application has them.
 */
#ifndef GLOWMCU_OUTSIDE_MODEL_H
#define GLOWMCU_OUTSIDE_MODEL_H

#include "glowmcu_model.h"

/*
 * `model.run` is NULL: an inference is `run_from`. `inputs` has an entry for each of the model's;
 * those that have no place in the arena are read there, the others are to be written to the arena
 * before.
 */
typedef struct {
    glowmcu_model model;
    int32_t (*run_from)(void *arena, const void *const *inputs); /* [model.input_count] */
} glowmcu_outside_model;

#endif /* GLOWMCU_OUTSIDE_MODEL_H */

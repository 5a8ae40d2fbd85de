/*
 * glowmcu_observer.h: who is told of every step of a run, in bundles made with --instrument.
 *
 * Called in the context of the run, in the order of the steps. A step of a cascade comes once a
 * row. Nothing may be written to the arena.
 */
#ifndef GLOWMCU_OBSERVER_H
#define GLOWMCU_OBSERVER_H

#include "glowmcu_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A layer: its name in the model, its operator and what computes it. */
typedef struct {
    const char *name;
    const char *op;
    const char *kernel;
    uint32_t macs;
    const glowmcu_tensor *outputs; /* [output_count] */
    uint32_t output_count;
} glowmcu_step;

/* Any function may be NULL: it is not called then. */
typedef struct {
    void (*before)(void *context, const glowmcu_step *step);
    void (*after)(void *context, const glowmcu_step *step);
    /*
     * In bundles made with --dump-tensors, before `after`: `bytes` of `tensor` from its byte
     * `first_byte` on, all of it or a row. `data` is valid during the call only: the arena is used
     * again.
     */
    void (*tensor)(void *context, const glowmcu_step *step, const glowmcu_tensor *tensor,
        const void *data, uint32_t first_byte, uint32_t bytes);
    void *context;
} glowmcu_observer;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GLOWMCU_OBSERVER_H */

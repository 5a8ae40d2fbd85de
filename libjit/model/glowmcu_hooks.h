/*
 * glowmcu_hooks.h: what a bundle tells of layers and memory to the functions of an accelerator.
 *
 * The geometry of a layer, its quantization and its constants are in the parameter struct that the
 * portable kernel of its operator reads too; here is what that struct does not say.
 */
#ifndef GLOWMCU_HOOKS_H
#define GLOWMCU_HOOKS_H

#include "glowmcu_base.h"

/* A tensor, NHWC; one of fewer axes has 1 before them. real = scale * (stored - zero_point). */
typedef struct {
    int32_t batches;
    int32_t height;
    int32_t width;
    int32_t channels;
    int32_t zero_point;
    float scale;
} glowmcu_hook_tensor;

/* A layer: its name in the model, and its operands and result. `in[1]` is of two operands. */
typedef struct {
    const char *name;
    glowmcu_hook_tensor in[2];
    glowmcu_hook_tensor out;
} glowmcu_hook_layer;

/* Memory that the core and the accelerator share. */
typedef struct {
    const void *data;
    uint32_t bytes;
} glowmcu_hook_memory;

/*
 * A region, in memory: the core has written what is `read`, and reads what is `written` after it.
 * Both may have bytes in caches; where the accelerator does not see these, clean and invalidate
 * them. `scratch` is for the tensors between the layers, which no code of the core touches.
 */
typedef struct {
    const glowmcu_hook_memory *read;
    const glowmcu_hook_memory *written;
    uint32_t read_count;
    uint32_t written_count;
    glowmcu_hook_memory scratch;
} glowmcu_hook_region;

/* What a run returns where a hook did: it has stopped, and its outputs are not to be used. */
#define GLOWMCU_BAD_ACCELERATOR (-8)

/*
 * Called after each layer of a region with its number, counted from 0 over all regions, and its
 * result; define it to trace, or to find the layer that differs. Costs nothing as it is.
 */
#ifndef GLOWMCU_DELEGATED
#define GLOWMCU_DELEGATED(layer, data, bytes) ((void)0)
#endif

#endif /* GLOWMCU_HOOKS_H */

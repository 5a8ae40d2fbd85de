/*
 * glowmcu_assign.h: what a state is for the next run goes to where it lies.
 */
#ifndef GLOWMCU_ASSIGN_H
#define GLOWMCU_ASSIGN_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t size_bytes;
} glowmcu_assignment;

/* Newest rows of a queue lie above the oldest, in the same memory. */
GLOWMCU_CODE
static inline void glowmcu_assign(const glowmcu_assignment *p, const void *in, void *out)
{
    (void)memmove(out, in, (size_t)p->size_bytes);
}

#endif /* GLOWMCU_ASSIGN_H */

/*
 * glowmcu_stored_parameter.h: what a layer reads of parameters that are kept with more bits.
 */
#ifndef GLOWMCU_STORED_PARAMETER_H
#define GLOWMCU_STORED_PARAMETER_H

#include "glowmcu_base.h"

typedef struct {
    int32_t count;
    int32_t shift;
} glowmcu_stored_parameter;

#endif /* GLOWMCU_STORED_PARAMETER_H */

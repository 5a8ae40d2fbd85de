/*
 * glowmcu_stored_parameter.h: what a layer reads of parameters that are kept with more bits.
 */
#ifndef GLOWMCU_STORED_PARAMETER_H
#define GLOWMCU_STORED_PARAMETER_H

#include "glowmcu_base.h"

typedef struct {
    int32_t rows;
    int32_t count;               /* in a row, that learn */
    int32_t others;              /* behind them, that do not */
    int32_t shift;
    const int8_t *other_weights; /* [rows][others], of weights */
    const int32_t *other_biases; /* of biases */
} glowmcu_stored_parameter;

#endif /* GLOWMCU_STORED_PARAMETER_H */

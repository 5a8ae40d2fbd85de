/* The core's cycle counter, from measure_open on. */
#ifndef MEASURE_CYCLES_H
#define MEASURE_CYCLES_H

#include <stdint.h>

/* Counts up and wraps at 32 bits. */
uint32_t measure_now(void);

#endif

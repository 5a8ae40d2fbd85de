/*
 * What a call costs. measure_systick.c counts ticks of the core's timer (QEMU), measure_instret.c
 * asks the core for its instructions (QEMU, RISC-V), measure_marks.c prints a line before and
 * after, at which the emulator is asked (Renode), measure_cycles.c counts the cycles of a chip.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>

/* Gets the timer ready and prints the two calls of known length that calibrate it. */
void measure_open(void);

/* Prints "glowmcu <label> <number> stack=<bytes>" of function(argument); returns its result. */
int32_t measure(const char *label, uint32_t number, int32_t (*function)(void *), void *argument);

#endif

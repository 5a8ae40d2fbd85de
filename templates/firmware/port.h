/*
 * What a measured firmware asks of the outside: inputs, a place for outputs, text, an end.
 * port_semihosting.c answers in QEMU, port_uart.c in Renode, port_serial.c on real boards.
 */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

/* Makes inputs, outputs and text available. */
void port_open(void);

/* How many inferences there are inputs for, at `input_bytes` each. */
uint32_t port_inference_count(uint32_t input_bytes);

/* The next `bytes` of the inputs. */
void port_read(void *to, uint32_t bytes);

/* Appends `bytes` to the outputs. */
void port_write(const void *from, uint32_t bytes);

/* Prints a text; lines end in '\n'. */
void port_print(const char *text);

/* Ends the program; `status` 0 means that all inferences ran. */
void port_exit(int status) __attribute__((noreturn));

#endif

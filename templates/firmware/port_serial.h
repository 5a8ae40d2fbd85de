/*
 * For an application that runs the test firmware in its own: it compiles all C files of this folder
 * but startup.c and uart_*.c with SERIAL_IN_APPLICATION, brings the functions of uart.h, sets up
 * clocks and pins, then calls serial_serve, which never returns.
 */
#ifndef PORT_SERIAL_H
#define PORT_SERIAL_H

#define SERIAL_IDENTITY_BYTES 8u

/* Of the bundle that this firmware was made for; main.c has it. */
extern const unsigned char serial_identity[SERIAL_IDENTITY_BYTES];

void serial_serve(void);

/* Starts the program again from reset: of the application's where the core is not Arm's. */
void serial_restart(void);

#endif

/*
 * A serial line out of the chip: all that a board has to bring for port_uart.c and port_serial.c.
 * The drivers here are for the peripheral at UART_BASE; UART_DIVISOR is what its baud rate register
 * takes. Neither sets up clocks or pins.
 */
#ifndef UART_H
#define UART_H

#include <stdint.h>

#define UART_REGISTER(offset) (*(volatile uint32_t *)(UART_BASE + (offset)))

/* Gets the line ready. */
void glowmcu_uart_open(void);

/* Sends a byte, waiting until there is room for it. */
void glowmcu_uart_putc(unsigned char byte);

/* The next byte that came in, or -1 where there is none yet: never waits. */
int glowmcu_uart_getc(void);

#endif

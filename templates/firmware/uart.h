/* A serial line out of the chip. UART_BASE is the peripheral's address, from the build. */
#ifndef UART_H
#define UART_H

#include <stdint.h>

#define UART_REGISTER(offset) (*(volatile uint32_t *)(UART_BASE + (offset)))

void uart_open(void);
void uart_write(const char *text, uint32_t length);

#endif

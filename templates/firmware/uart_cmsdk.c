/* CMSDK APB UART, as on Arm's MPS boards: DATA, STATE (bit 0 full, bit 1 came in), CTRL. */
#include "uart.h"

#ifndef UART_DIVISOR
#define UART_DIVISOR 217u /* 25 MHz to 115 200 baud */
#endif

void glowmcu_uart_open(void)
{
    UART_REGISTER(0x10u) = UART_DIVISOR;
    UART_REGISTER(0x08u) = 3u; /* transmit, receive */
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((UART_REGISTER(0x04u) & 1u) != 0u) {
    }
    UART_REGISTER(0x00u) = (uint32_t)byte;
}

int glowmcu_uart_getc(void)
{
    return (UART_REGISTER(0x04u) & 2u) != 0u ? (int)(UART_REGISTER(0x00u) & 0xFFu) : -1;
}

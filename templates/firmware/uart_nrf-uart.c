/*
 * UART of nRF51 and nRF52: ENABLE 4, TASKS_STARTTX, then a byte to TXD and a wait for
 * EVENTS_TXDRDY; TASKS_STARTRX, then EVENTS_RXDRDY for each byte of RXD.
 */
#include "uart.h"

#ifndef UART_DIVISOR
#define UART_DIVISOR 0x01D7E000u /* 115 200 baud */
#endif

void glowmcu_uart_open(void)
{
    UART_REGISTER(0x524u) = UART_DIVISOR;
    UART_REGISTER(0x500u) = 4u;
    UART_REGISTER(0x008u) = 1u;
    UART_REGISTER(0x000u) = 1u;
}

void glowmcu_uart_putc(unsigned char byte)
{
    UART_REGISTER(0x11Cu) = 0u;
    UART_REGISTER(0x51Cu) = (uint32_t)byte;
    while (UART_REGISTER(0x11Cu) == 0u) {
    }
}

int glowmcu_uart_getc(void)
{
    if (UART_REGISTER(0x108u) == 0u) {
        return -1;
    }
    /* Cleared before reading: another byte of the FIFO sets it again at once. */
    UART_REGISTER(0x108u) = 0u;
    return (int)(UART_REGISTER(0x518u) & 0xFFu);
}

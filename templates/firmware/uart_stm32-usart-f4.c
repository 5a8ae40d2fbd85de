/* USART of STM32F1, F2 and F4: SR (bit 5 came in, bit 7 empty), DR, BRR, CR1 (UE, TE, RE). */
#include "uart.h"

#ifndef UART_DIVISOR
#define UART_DIVISOR 139u /* 16 MHz to 115 200 baud */
#endif

void glowmcu_uart_open(void)
{
    UART_REGISTER(0x08u) = UART_DIVISOR;
    UART_REGISTER(0x0Cu) = (1u << 13) | (1u << 3) | (1u << 2);
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((UART_REGISTER(0x00u) & 0x80u) == 0u) {
    }
    UART_REGISTER(0x04u) = (uint32_t)byte;
}

/* Reading SR, then DR also ends an overrun. */
int glowmcu_uart_getc(void)
{
    return (UART_REGISTER(0x00u) & 0x20u) != 0u ? (int)(UART_REGISTER(0x04u) & 0xFFu) : -1;
}

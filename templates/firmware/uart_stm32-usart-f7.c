/* USART and LPUART of STM32F7, H7, L4, L5: CR1 (UE, RE, TE), BRR, ISR, ICR, RDR, TDR. */
#include "uart.h"

#ifndef UART_DIVISOR
#define UART_DIVISOR 139u /* 16 MHz to 115 200 baud */
#endif
#define OVERRUN (1u << 3) /* in ISR and ICR: nothing comes in before it is cleared */

void glowmcu_uart_open(void)
{
    UART_REGISTER(0x0Cu) = UART_DIVISOR;
    UART_REGISTER(0x00u) = (1u << 3) | (1u << 2) | 1u;
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((UART_REGISTER(0x1Cu) & 0x80u) == 0u) {
    }
    UART_REGISTER(0x28u) = (uint32_t)byte;
}

int glowmcu_uart_getc(void)
{
    const uint32_t status = UART_REGISTER(0x1Cu);

    if ((status & OVERRUN) != 0u) {
        UART_REGISTER(0x20u) = OVERRUN;
    }
    return (status & 0x20u) != 0u ? (int)(UART_REGISTER(0x24u) & 0xFFu) : -1;
}

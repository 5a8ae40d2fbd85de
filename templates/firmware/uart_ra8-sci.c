/* SCI of Renesas RA8: TDR, CCR0 (bit 4 transmit), CCR2 (bits 8 to 15 BRR), CSR (bit 30 sent). */
#include "uart.h"

void glowmcu_uart_open(void)
{
    UART_REGISTER(0x10u) = 0xFF001904u; /* 8 MHz to 9 600 baud */
    UART_REGISTER(0x08u) = 1u << 4;
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((UART_REGISTER(0x48u) & (1u << 30)) == 0u) {
    }
    UART_REGISTER(0x04u) = (uint32_t)byte;
}

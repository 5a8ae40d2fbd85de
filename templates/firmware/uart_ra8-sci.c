/* SCI of Renesas RA8: TDR, CCR0 (bit 4 transmit), CCR2 (bits 8 to 15 BRR), CSR (bit 30 sent). */
#include "uart.h"

void uart_open(void)
{
    UART_REGISTER(0x10u) = 0xFF001904u; /* 8 MHz to 9 600 baud */
    UART_REGISTER(0x08u) = 1u << 4;
}

void uart_write(const char *text, uint32_t length)
{
    uint32_t i;
    for (i = 0; i < length; i++) {
        while ((UART_REGISTER(0x48u) & (1u << 30)) == 0u) {
        }
        UART_REGISTER(0x04u) = (uint32_t)(unsigned char)text[i];
    }
}

/* USART and LPUART of STM32F7, H7, L4: CR1 (bit 0 UE, bit 3 TE), BRR, ISR (bit 7 empty), TDR. */
#include "uart.h"

void uart_open(void)
{
    UART_REGISTER(0x0Cu) = 139u; /* 16 MHz to 115 200 baud */
    UART_REGISTER(0x00u) = (1u << 3) | 1u;
}

void uart_write(const char *text, uint32_t length)
{
    uint32_t i;
    for (i = 0; i < length; i++) {
        while ((UART_REGISTER(0x1Cu) & 0x80u) == 0u) {
        }
        UART_REGISTER(0x28u) = (uint32_t)(unsigned char)text[i];
    }
}

/* USART of STM32F1, F2 and F4: SR (bit 7 empty), DR, BRR, CR1 (bit 13 UE, bit 3 TE). */
#include "uart.h"

void uart_open(void)
{
    UART_REGISTER(0x08u) = 139u; /* 16 MHz to 115 200 baud */
    UART_REGISTER(0x0Cu) = (1u << 13) | (1u << 3);
}

void uart_write(const char *text, uint32_t length)
{
    uint32_t i;
    for (i = 0; i < length; i++) {
        while ((UART_REGISTER(0x00u) & 0x80u) == 0u) {
        }
        UART_REGISTER(0x04u) = (uint32_t)(unsigned char)text[i];
    }
}

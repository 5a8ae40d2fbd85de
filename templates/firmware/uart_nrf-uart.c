/* UART of nRF51: ENABLE 4, TASKS_STARTTX, then a byte to TXD and a wait for EVENTS_TXDRDY. */
#include "uart.h"

void uart_open(void)
{
    UART_REGISTER(0x524u) = 0x01D7E000u; /* 115 200 baud */
    UART_REGISTER(0x500u) = 4u;
    UART_REGISTER(0x008u) = 1u;
}

void uart_write(const char *text, uint32_t length)
{
    uint32_t i;
    for (i = 0; i < length; i++) {
        UART_REGISTER(0x11Cu) = 0u;
        UART_REGISTER(0x51Cu) = (uint32_t)(unsigned char)text[i];
        while (UART_REGISTER(0x11Cu) == 0u) {
        }
    }
}

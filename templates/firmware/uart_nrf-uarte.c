/* UARTE of nRF52 and nRF53: reads the text by DMA, and only from RAM, hence the buffer. */
#include "uart.h"

#include <string.h>

static char buffer[64];

void uart_open(void)
{
    UART_REGISTER(0x524u) = 0x01D60000u; /* 115 200 baud */
    UART_REGISTER(0x500u) = 8u;
}

void uart_write(const char *text, uint32_t length)
{
    while (length != 0u) {
        uint32_t part = length < sizeof buffer ? length : (uint32_t)sizeof buffer;
        memcpy(buffer, text, part);
        UART_REGISTER(0x120u) = 0u; /* EVENTS_ENDTX */
        UART_REGISTER(0x544u) = (uint32_t)buffer;
        UART_REGISTER(0x548u) = part;
        UART_REGISTER(0x008u) = 1u; /* TASKS_STARTTX */
        while (UART_REGISTER(0x120u) == 0u) {
        }
        text += part;
        length -= part;
    }
}

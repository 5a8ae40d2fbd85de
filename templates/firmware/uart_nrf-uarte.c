/* UARTE of nRF52 and nRF53, which reads by DMA and only from RAM. It sends and does not receive. */
#include "uart.h"

static unsigned char sent;

void glowmcu_uart_open(void)
{
    UART_REGISTER(0x524u) = 0x01D60000u; /* 115 200 baud */
    UART_REGISTER(0x500u) = 8u;
}

void glowmcu_uart_putc(unsigned char byte)
{
    sent = byte;
    UART_REGISTER(0x120u) = 0u; /* EVENTS_ENDTX */
    UART_REGISTER(0x544u) = (uint32_t)&sent;
    UART_REGISTER(0x548u) = 1u;
    UART_REGISTER(0x008u) = 1u; /* TASKS_STARTTX */
    while (UART_REGISTER(0x120u) == 0u) {
    }
}

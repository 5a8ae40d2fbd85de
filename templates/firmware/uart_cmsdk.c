/* CMSDK APB UART, as on Arm's MPS boards: DATA, STATE (bit 0 full), CTRL (bit 0 transmit). */
#include "uart.h"

void uart_open(void)
{
    UART_REGISTER(0x10u) = 217u; /* 25 MHz to 115 200 baud */
    UART_REGISTER(0x08u) = 1u;
}

void uart_write(const char *text, uint32_t length)
{
    uint32_t i;
    for (i = 0; i < length; i++) {
        while ((UART_REGISTER(0x04u) & 1u) != 0u) {
        }
        UART_REGISTER(0x00u) = (uint32_t)(unsigned char)text[i];
    }
}

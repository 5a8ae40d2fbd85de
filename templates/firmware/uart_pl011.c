/* Arm PL011, as in RP2040 and RP2350: DR, FR (bit 5 full), LCR_H, CR (bit 0 UART, bit 8 TX). */
#include "uart.h"

void uart_open(void)
{
    UART_REGISTER(0x2Cu) = 0x70u; /* eight bits, FIFOs on */
    UART_REGISTER(0x30u) = 0x101u;
}

void uart_write(const char *text, uint32_t length)
{
    uint32_t i;
    for (i = 0; i < length; i++) {
        while ((UART_REGISTER(0x18u) & 0x20u) != 0u) {
        }
        UART_REGISTER(0x00u) = (uint32_t)(unsigned char)text[i];
    }
}

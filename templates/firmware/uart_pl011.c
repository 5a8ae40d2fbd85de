/* Arm PL011, as in RP2040 and RP2350: DR, FR (bit 4 empty, bit 5 full), IBRD, FBRD, LCR_H, CR. */
#include "uart.h"

void glowmcu_uart_open(void)
{
#ifdef UART_DIVISOR
    /* 64 times the clock over 16 times the baud rate. */
    UART_REGISTER(0x24u) = UART_DIVISOR >> 6;
    UART_REGISTER(0x28u) = UART_DIVISOR & 63u;
#endif
    UART_REGISTER(0x2Cu) = 0x70u; /* eight bits, FIFOs on */
    UART_REGISTER(0x30u) = 0x301u; /* bit 0 UART, bit 8 transmit, bit 9 receive */
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((UART_REGISTER(0x18u) & 0x20u) != 0u) {
    }
    UART_REGISTER(0x00u) = (uint32_t)byte;
}

int glowmcu_uart_getc(void)
{
    return (UART_REGISTER(0x18u) & 0x10u) != 0u ? -1 : (int)(UART_REGISTER(0x00u) & 0xFFu);
}

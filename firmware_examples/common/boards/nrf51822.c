/* BBC micro:bit (nRF51822): UART0 on P0.24, which the interface chip's serial port reads. */
#include "board.h"

#define TXD_PIN 24u
#define P0_OUTSET 0x50000508u
#define P0_DIRSET 0x50000518u
#define UART0 0x40002000u
#define TASKS_STARTTX (UART0 + 0x008u)
#define EVENTS_TXDRDY (UART0 + 0x11Cu)
#define ENABLE (UART0 + 0x500u)
#define PSELTXD (UART0 + 0x50Cu)
#define TXD (UART0 + 0x51Cu)
#define BAUDRATE (UART0 + 0x524u)

void board_open(void)
{
    BOARD_REGISTER(P0_OUTSET) = 1u << TXD_PIN;
    BOARD_REGISTER(P0_DIRSET) = 1u << TXD_PIN;
    BOARD_REGISTER(PSELTXD) = TXD_PIN;
    BOARD_REGISTER(BAUDRATE) = 0x01D7E000u; /* 115 200 */
    BOARD_REGISTER(ENABLE) = 4u;
    BOARD_REGISTER(TASKS_STARTTX) = 1u;
}

void board_write(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        BOARD_REGISTER(EVENTS_TXDRDY) = 0u;
        BOARD_REGISTER(TXD) = (uint32_t)(unsigned char)text[i];
        while (BOARD_REGISTER(EVENTS_TXDRDY) == 0u) {
        }
    }
}

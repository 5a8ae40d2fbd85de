/* Arm's MPS2 and MPS3 boards: CMSDK APB UART at UART_BASE. */
#include "board.h"

#define DATA (UART_BASE + 0x00u)
#define STATE (UART_BASE + 0x04u)
#define CTRL (UART_BASE + 0x08u)
#define BAUDDIV (UART_BASE + 0x10u)

void board_open(void)
{
    BOARD_REGISTER(BAUDDIV) = 217u; /* 25 MHz / 115 200 */
    BOARD_REGISTER(CTRL) = 1u;      /* transmit */
}

void board_write(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        while ((BOARD_REGISTER(STATE) & 1u) != 0u) {
        }
        BOARD_REGISTER(DATA) = (uint32_t)(unsigned char)text[i];
    }
}

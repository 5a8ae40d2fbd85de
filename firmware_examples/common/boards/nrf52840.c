/* nRF52840 DK: UARTE0 on P0.06, which the debugger's serial port reads. */
#include <string.h>

#include "board.h"

#define TXD_PIN 6u
#define P0_OUTSET 0x50000508u
#define P0_DIRSET 0x50000518u
#define UARTE0 0x40002000u
#define TASKS_STARTTX (UARTE0 + 0x008u)
#define EVENTS_ENDTX (UARTE0 + 0x120u)
#define ENABLE (UARTE0 + 0x500u)
#define PSEL_TXD (UARTE0 + 0x50Cu)
#define BAUDRATE (UARTE0 + 0x524u)
#define TXD_PTR (UARTE0 + 0x544u)
#define TXD_MAXCNT (UARTE0 + 0x548u)

void board_open(void)
{
    BOARD_REGISTER(P0_OUTSET) = 1u << TXD_PIN;
    BOARD_REGISTER(P0_DIRSET) = 1u << TXD_PIN;
    BOARD_REGISTER(PSEL_TXD) = TXD_PIN;
    BOARD_REGISTER(BAUDRATE) = 0x01D60000u; /* 115 200 */
    BOARD_REGISTER(ENABLE) = 8u;
}

void board_write(const char *text, size_t bytes)
{
    static char line[64]; /* EasyDMA reads RAM only */

    while (bytes != 0u) {
        const size_t part = (bytes < sizeof line) ? bytes : sizeof line;

        memcpy(line, text, part);
        BOARD_REGISTER(EVENTS_ENDTX) = 0u;
        BOARD_REGISTER(TXD_PTR) = (uint32_t)(uintptr_t)line;
        BOARD_REGISTER(TXD_MAXCNT) = (uint32_t)part;
        BOARD_REGISTER(TASKS_STARTTX) = 1u;
        while (BOARD_REGISTER(EVENTS_ENDTX) == 0u) {
        }
        text += part;
        bytes -= part;
    }
}

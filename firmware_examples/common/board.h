/* board.h: what the examples need of a board. One file in boards/ implements it. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

#define BOARD_REGISTER(address) (*(volatile uint32_t *)(address))

void board_open(void);                            /* clocks, pins, serial line at 115 200 baud */
void board_write(const char *text, size_t bytes); /* waits until all bytes are sent */

#endif

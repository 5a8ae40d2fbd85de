/* print.h: text and numbers on the serial line. */
#ifndef PRINT_H
#define PRINT_H

#include <stdint.h>

void print_text(const char *text);
void print_number(int32_t value);
void print_hex(uint32_t value); /* eight digits */

#endif

/* print.c: see print.h. Small enough to spare the firmware the C library's printf. */
#include "print.h"

#include <string.h>

#include "board.h"

void print_text(const char *text)
{
    board_write(text, strlen(text));
}

void print_number(int32_t value)
{
    char digits[11]; /* a sign and ten digits */
    char *first = digits + sizeof digits;
    uint32_t rest = (value < 0) ? 0u - (uint32_t)value : (uint32_t)value;

    do {
        *--first = (char)('0' + rest % 10u);
        rest /= 10u;
    } while (rest != 0u);
    if (value < 0) {
        *--first = '-';
    }
    board_write(first, (size_t)(digits + sizeof digits - first));
}

void print_hex(uint32_t value)
{
    char digits[8];

    for (int i = 7; i >= 0; --i) {
        digits[i] = "0123456789abcdef"[value & 15u];
        value >>= 4;
    }
    board_write(digits, sizeof digits);
}

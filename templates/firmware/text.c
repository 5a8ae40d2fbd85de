#include "text.h"

#include "port.h"

void text_number(const char *label, uint32_t value)
{
    char digits[11];
    uint32_t at = sizeof digits - 1u;
    digits[at] = '\0';
    do {
        at--;
        digits[at] = (char)('0' + value % 10u);
        value /= 10u;
    } while (value != 0u);
    port_print(label);
    port_print(&digits[at]);
}

void text_hex(const char *label, uint32_t value)
{
    char digits[9];
    uint32_t i;
    for (i = 0; i < 8u; i++) {
        digits[i] = "0123456789abcdef"[(value >> (28u - 4u * i)) & 15u];
    }
    digits[8] = '\0';
    port_print(label);
    port_print(digits);
}

void text_fail(const char *message)
{
    port_print("glowmcu error: ");
    port_print(message);
    port_print("\n");
    port_exit(1);
}

/* Lines of text without printf: a C library's would cost more than the firmware around it. */
#ifndef TEXT_H
#define TEXT_H

#include <stdint.h>

/* Prints `label` and `value` in decimal, e.g. " ticks=" and 12. */
void text_number(const char *label, uint32_t value);

/* Prints `label` and `value` as eight hexadecimal digits. */
void text_hex(const char *label, uint32_t value);

/* Prints "glowmcu error: " and `message`, then ends the program. */
void text_fail(const char *message) __attribute__((noreturn));

#endif

/*
 * Everything over a serial line: inputs are read from memory that the emulator has filled before
 * (PORT_INPUTS: a count, then the bytes), outputs are printed in hexadecimal with a checksum.
 */
#include <string.h>

#include "port.h"
#include "text.h"
#include "uart.h"

#define BYTES_PER_LINE 32u
#define FNV_START 0x811C9DC5u
#define FNV_PRIME 0x01000193u

static const unsigned char *next_input;
static uint32_t checksum; /* FNV-1a of all output bytes */

void port_open(void)
{
    next_input = (const unsigned char *)PORT_INPUTS + 4;
    checksum = FNV_START;
    glowmcu_uart_open();
}

uint32_t port_inference_count(uint32_t input_bytes)
{
    (void)input_bytes;
    return *(const volatile uint32_t *)PORT_INPUTS;
}

void port_read(void *to, uint32_t bytes)
{
    memcpy(to, next_input, bytes);
    next_input += bytes;
}

static void write_line(const unsigned char *bytes, uint32_t count)
{
    static const char digits[] = "0123456789abcdef";
    char line[2u * BYTES_PER_LINE + 1u];
    uint32_t i;
    for (i = 0; i < count; i++) {
        line[2u * i] = digits[bytes[i] >> 4];
        line[2u * i + 1u] = digits[bytes[i] & 15u];
        checksum = (checksum ^ bytes[i]) * FNV_PRIME;
    }
    line[2u * count] = '\0';
    port_print("glowmcu output ");
    port_print(line);
    port_print("\n");
}

void port_write(const void *from, uint32_t bytes)
{
    const unsigned char *next = (const unsigned char *)from;
    while (bytes != 0u) {
        uint32_t count = bytes < BYTES_PER_LINE ? bytes : BYTES_PER_LINE;
        write_line(next, count);
        next += count;
        bytes -= count;
    }
    text_hex("glowmcu checksum ", checksum);
    port_print("\n");
}

void port_print(const char *text)
{
    for (; *text != '\0'; text++) {
        glowmcu_uart_putc((unsigned char)*text);
    }
}

void port_exit(int status)
{
    port_print(status == 0 ? "glowmcu exit 0\n" : "glowmcu exit 1\n");
    for (;;) {
        __asm volatile("wfi");
    }
}

/*
 * The link to `glowmcu run|verify|bench --on serial:PORT`. The computer asks, the board answers:
 *
 *     frame    0x7E, then kind, sequence number, payload and CRC-32 (that of zlib, the lowest byte
 *              first), then 0x7E; inside, 0x7E and 0x7D are sent as 0x7D and the byte ^ 0x20
 *     'H'      who is there?     'h': version, identity of the bundle, most bytes of a payload
 *     'B' n    run n inferences  'k'
 *     'N'      what is next?     'w' n: n bytes of inputs are wanted; 't', 'o': a piece of text or
 *                                of outputs; 'x' status: all done
 *     'D' ..   inputs            'k'
 *     other, or out of turn      'u'; before 'B', and so after a reset, 'r'
 *
 * A request that comes again (the same kind and number) gets the same answer again: its answer was
 * lost. What is damaged is not answered, so that it comes again. Nothing here needs a clock.
 * 'H' while inferences run restarts the chip: another program has the computer's end of the line.
 */
#include <string.h>

#include "port.h"
#include "port_serial.h"
#include "uart.h"

#define VERSION 1u
#define FLAG 0x7Eu
#define ESCAPE 0x7Du
#define FLIP 0x20u
#define HEAD_BYTES 2u /* kind and sequence number */
#define CHECK_BYTES 4u
#define PAYLOAD_BYTES 240u
#define LINE_BYTES 120u

typedef struct {
    unsigned char bytes[HEAD_BYTES + PAYLOAD_BYTES + CHECK_BYTES];
    uint32_t length; /* without the checksum */
} frame;

#if !defined(__arm__) && !defined(SERIAL_IN_APPLICATION)
void reset_handler(void);
#endif

static frame request;
static frame answer; /* the last one, until a new request comes */
static int is_begun;
static uint32_t inferences;
static char line[LINE_BYTES];
static uint32_t line_bytes;

/* CRC-32, reflected, polynomial 0xEDB88320. */
static uint32_t checksum(const unsigned char *bytes, uint32_t count)
{
    uint32_t value = 0xFFFFFFFFu;
    uint32_t i;
    uint32_t bit;
    for (i = 0; i < count; i++) {
        value ^= bytes[i];
        for (bit = 0; bit < 8u; bit++) {
            value = (value >> 1) ^ ((value & 1u) != 0u ? 0xEDB88320u : 0u);
        }
    }
    return ~value;
}

static void store_word(unsigned char *to, uint32_t value)
{
    uint32_t i;
    for (i = 0; i < 4u; i++) {
        to[i] = (unsigned char)(value >> (8u * i));
    }
}

static uint32_t load_word(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static void restart(void)
{
#if defined(__arm__)
    *(volatile uint32_t *)0xE000ED0Cu = 0x05FA0004u; /* AIRCR: reset of the system */
    for (;;) {
    }
#elif defined(SERIAL_IN_APPLICATION)
    serial_restart();
#else
    reset_handler();
#endif
}

/* The next frame that is whole: everything else is passed over. */
static void receive(void)
{
    uint32_t count = 0;
    int is_escaped = 0;
    for (;;) {
        const int got = glowmcu_uart_getc();
        if (got < 0) {
            continue;
        }
        if ((uint32_t)got == FLAG) {
            if (!is_escaped && count >= HEAD_BYTES + CHECK_BYTES && count <= sizeof request.bytes) {
                request.length = count - CHECK_BYTES;
                if (checksum(request.bytes, request.length) ==
                    load_word(request.bytes + request.length)) {
                    return;
                }
            }
            count = 0;
            is_escaped = 0;
        } else if ((uint32_t)got == ESCAPE) {
            is_escaped = 1;
        } else {
            if (count < sizeof request.bytes) {
                request.bytes[count] = (unsigned char)((uint32_t)got ^ (is_escaped ? FLIP : 0u));
            }
            count += count <= sizeof request.bytes ? 1u : 0u; /* one more says: too long */
            is_escaped = 0;
        }
    }
}

static void send_again(void)
{
    uint32_t i;
    glowmcu_uart_putc((unsigned char)FLAG);
    for (i = 0; i < answer.length + CHECK_BYTES; i++) {
        const uint32_t byte = answer.bytes[i];
        if (byte == FLAG || byte == ESCAPE) {
            glowmcu_uart_putc((unsigned char)ESCAPE);
            glowmcu_uart_putc((unsigned char)(byte ^ FLIP));
        } else {
            glowmcu_uart_putc((unsigned char)byte);
        }
    }
    glowmcu_uart_putc((unsigned char)FLAG);
}

static void reply(char kind, const void *payload, uint32_t count)
{
    answer.bytes[0] = (unsigned char)kind;
    answer.bytes[1] = request.bytes[1];
    memcpy(answer.bytes + HEAD_BYTES, payload, count);
    answer.length = HEAD_BYTES + count;
    store_word(answer.bytes + answer.length, checksum(answer.bytes, answer.length));
    send_again();
}

static void greet(void)
{
    unsigned char about[1u + SERIAL_IDENTITY_BYTES + 1u];
    about[0] = (unsigned char)VERSION;
    memcpy(about + 1, serial_identity, SERIAL_IDENTITY_BYTES);
    about[1u + SERIAL_IDENTITY_BYTES] = (unsigned char)PAYLOAD_BYTES;
    reply('h', about, (uint32_t)sizeof about);
}

/* The kind of the next request that is new and in turn; the others are answered here. */
static char next_request(void)
{
    static int had; /* the request answered last */
    static unsigned char last[HEAD_BYTES];
    for (;;) {
        char kind;
        receive();
        kind = (char)request.bytes[0];
        if (kind == 'H') {
            if (is_begun) {
                restart();
            }
            greet();
        } else if (had && memcmp(last, request.bytes, HEAD_BYTES) == 0) {
            send_again();
        } else if (!is_begun && kind != 'B') {
            reply('r', "", 0u);
        } else {
            had = 1;
            memcpy(last, request.bytes, HEAD_BYTES);
            return kind;
        }
    }
}

/* Answers the next "what is next?". */
static void tell(char kind, const void *payload, uint32_t count)
{
    while (next_request() != 'N') {
        reply('u', "", 0u);
    }
    reply(kind, payload, count);
}

void port_open(void)
{
    glowmcu_uart_open();
    while (next_request() != 'B' || request.length != HEAD_BYTES + 4u) {
        reply('u', "", 0u);
    }
    inferences = load_word(request.bytes + HEAD_BYTES);
    is_begun = 1;
    reply('k', "", 0u);
}

uint32_t port_inference_count(uint32_t input_bytes)
{
    (void)input_bytes;
    return inferences;
}

void port_read(void *to, uint32_t bytes)
{
    unsigned char *next = (unsigned char *)to;
    while (bytes != 0u) {
        const char kind = next_request();
        const uint32_t given = request.length - HEAD_BYTES;
        if (kind == 'N') {
            unsigned char wanted[4];
            store_word(wanted, bytes);
            reply('w', wanted, (uint32_t)sizeof wanted);
        } else if (kind == 'D' && given <= bytes) {
            memcpy(next, request.bytes + HEAD_BYTES, given);
            next += given;
            bytes -= given;
            reply('k', "", 0u);
        } else {
            reply('u', "", 0u);
        }
    }
}

void port_write(const void *from, uint32_t bytes)
{
    const unsigned char *next = (const unsigned char *)from;
    while (bytes != 0u) {
        const uint32_t count = bytes < PAYLOAD_BYTES ? bytes : PAYLOAD_BYTES;
        tell('o', next, count);
        next += count;
        bytes -= count;
    }
}

void port_print(const char *text)
{
    for (; *text != '\0'; text++) {
        line[line_bytes] = *text;
        line_bytes++;
        if (*text == '\n' || line_bytes == LINE_BYTES) {
            tell('t', line, line_bytes);
            line_bytes = 0;
        }
    }
}

void port_exit(int status)
{
    const unsigned char told = (unsigned char)status;
    tell('x', &told, 1u);
    for (;;) {
        (void)next_request();
        reply('u', "", 0u);
    }
}

/*
 * Files and text of the computer that emulates, by semihosting (Arm's calls, which RISC-V took
 * over): inputs come from "inputs.bin" and outputs go to "outputs.bin" in the emulator's working
 * directory.
 */
#include <string.h>

#include "port.h"
#include "text.h"

#define SYS_OPEN 0x01u
#define SYS_WRITE0 0x04u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_FLEN 0x0Cu
#define SYS_EXIT 0x18u
#define MODE_READ 1u
#define MODE_WRITE 5u
#define STOPPED_RUN_TIME_ERROR 0x20023u
#define STOPPED_APPLICATION_EXIT 0x20026u

static uint32_t inputs;
static uint32_t outputs;

static uint32_t semihost(uint32_t operation, uint32_t argument)
{
#if defined(__riscv)
    register uint32_t a0 __asm("a0") = operation;
    register uint32_t a1 __asm("a1") = argument;
    /* These three, uncompressed and on one page, are the sign. */
    __asm volatile(".option push\n"
                   ".option norvc\n"
                   ".balign 16\n"
                   "slli x0, x0, 0x1f\n"
                   "ebreak\n"
                   "srai x0, x0, 7\n"
                   ".option pop\n"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
    return a0;
#else
    register uint32_t r0 __asm("r0") = operation;
    register uint32_t r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
#endif
}

static uint32_t open_file(const char *name, uint32_t mode)
{
    uint32_t block[3];
    uint32_t handle;
    block[0] = (uint32_t)name;
    block[1] = mode;
    block[2] = (uint32_t)strlen(name);
    handle = semihost(SYS_OPEN, (uint32_t)block);
    if (handle == 0xFFFFFFFFu) {
        text_fail("semihosting could not open the files of inputs and outputs");
    }
    return handle;
}

/* Number of bytes that were not transferred. */
static uint32_t transfer(uint32_t operation, uint32_t handle, uint32_t address, uint32_t bytes)
{
    uint32_t block[3];
    block[0] = handle;
    block[1] = address;
    block[2] = bytes;
    return semihost(operation, (uint32_t)block);
}

void port_open(void)
{
    inputs = open_file("inputs.bin", MODE_READ);
    outputs = open_file("outputs.bin", MODE_WRITE);
}

uint32_t port_inference_count(uint32_t input_bytes)
{
    return semihost(SYS_FLEN, (uint32_t)&inputs) / input_bytes;
}

void port_read(void *to, uint32_t bytes)
{
    if (transfer(SYS_READ, inputs, (uint32_t)to, bytes) != 0u) {
        text_fail("semihosting gave fewer input bytes than asked for");
    }
}

void port_write(const void *from, uint32_t bytes)
{
    if (transfer(SYS_WRITE, outputs, (uint32_t)from, bytes) != 0u) {
        text_fail("semihosting took fewer output bytes than were given");
    }
}

void port_print(const char *text)
{
    (void)semihost(SYS_WRITE0, (uint32_t)text);
}

void port_exit(int status)
{
    (void)semihost(SYS_EXIT, status == 0 ? STOPPED_APPLICATION_EXIT : STOPPED_RUN_TIME_ERROR);
    for (;;) {
    }
}

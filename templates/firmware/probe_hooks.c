/*
 * probe_hooks.c: runs a bundle on this computer with the functions of an accelerator, and says what
 * each layer of it made: `glowmcu verify --hooks`. Inputs come from stdin, one run after another.
 *
 * Lines: "L <layer> <CRC-32 of its result>", "S <what the run returned>", "O <an output in hex>".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include PROBE_HEADER
#include "glowmcu_check.h"
#include "glowmcu_hooks.h"

void glowmcu_probe(int32_t layer, const void *data, uint32_t bytes)
{
    const uint32_t crc = glowmcu_check_crc(0xFFFFFFFFu, data, bytes, 1);

    (void)printf("L %ld %08lx\n", (long)layer, (unsigned long)crc);
    (void)fflush(stdout);
}

static int read_inputs(uint8_t *arena)
{
    for (uint32_t i = 0; i < PROBE_MODEL.input_count; ++i) {
        const glowmcu_tensor *const input = &PROBE_MODEL.inputs[i];

        if (fread(arena + input->offset, 1, input->bytes, stdin) != input->bytes) {
            return 0;
        }
    }
    return 1;
}

static void write_outputs(const uint8_t *arena)
{
    for (uint32_t i = 0; i < PROBE_MODEL.output_count; ++i) {
        const glowmcu_tensor *const output = &PROBE_MODEL.outputs[i];

        (void)printf("O ");
        for (uint32_t at = 0; at < output->bytes; ++at) {
            (void)printf("%02x", (unsigned)arena[output->offset + at]);
        }
        (void)printf("\n");
    }
}

int main(void)
{
    /* Memory of its own, so that a sanitizer sees what is written beside it. */
    uint8_t *const memory = (uint8_t *)malloc(PROBE_MODEL.arena_bytes + PROBE_MODEL.arena_align);
    uint8_t *arena = memory;

    if (memory == NULL) {
        return 2;
    }
    while ((uintptr_t)arena % PROBE_MODEL.arena_align != 0u) {
        ++arena;
    }
    (void)memset(arena, 0xA5, PROBE_MODEL.arena_bytes);
    if (PROBE_MODEL.reset != NULL) {
        (void)PROBE_MODEL.reset(arena);
    }
    while (read_inputs(arena) != 0) {
        (void)printf("S %ld\n", (long)PROBE_MODEL.run(arena));
        write_outputs(arena);
        (void)fflush(stdout);
    }
    free(memory);
    return 0;
}

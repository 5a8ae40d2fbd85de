/* model.c: see model.h. */
#include "model.h"

#include "flash.h"

/* From the linker script. */
extern const uint8_t code_start[], code_end[], model_start[], model_limit[];

/* CRC-32 as in zlib and Ethernet, half a byte at a time. */
static uint32_t crc32(const uint8_t *bytes, uint32_t count)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu
    };
    uint32_t crc = 0xFFFFFFFFu;

    for (uint32_t i = 0; i < count; ++i) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

model_state model_check(const model_header *model)
{
    const uint32_t room = (uint32_t)(model_limit - model_start) - (uint32_t)sizeof *model;

    if (model->magic != MODEL_MAGIC) {
        return MODEL_MISSING;
    }
    if (model->bytes > room) {
        return MODEL_TOO_LARGE;
    }
    if (crc32((const uint8_t *)(model + 1), model->bytes) != model->crc) {
        return MODEL_DAMAGED;
    }
    if (crc32(code_start, (uint32_t)(code_end - code_start)) != model->code_crc) {
        return MODEL_OF_OTHER_CODE;
    }
    return MODEL_GOOD;
}

const char *model_state_name(model_state state)
{
    static const char *const names[] = { "good", "missing", "too large", "damaged", "for another firmware" };

    return names[state];
}

model_state model_install(void)
{
    const model_state state = model_check(&model_received);

    if (state == MODEL_GOOD) {
        flash_write(&model_installed, &model_received, (uint32_t)sizeof model_received + model_received.bytes);
    }
    return state;
}

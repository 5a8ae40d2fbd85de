/*
 * glowmcu_check.h: are constants what the compiler wrote? CRC-32 of their values.
 *
 * All is read as volatile bytes: what a C compiler believes of a constant is not asked.
 */
#ifndef GLOWMCU_CHECK_H
#define GLOWMCU_CHECK_H

#include "glowmcu_base.h"

/*
 * The CRC-32 of IEEE 802.3 over `bytes` of elements of `width` bytes (1, 2, 4 or 8), low byte first
 * on every machine; it begins at 0xFFFFFFFF, and is compared with its complement. A changed bit, or
 * any change within 32 bits in a row, always changes it.
 */
GLOWMCU_CODE
static inline uint32_t glowmcu_check_crc(uint32_t crc, const volatile void *data, uint32_t bytes,
    uint32_t width)
{
    static const uint32_t nibbles[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u,
        0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u,
        0xA00AE278u, 0xBDBDF21Cu
    };
    const uint32_t flip = (GLOWMCU_BIG_ENDIAN != 0) ? width - 1u : 0u;
    const volatile uint8_t *const from = (const volatile uint8_t *)data;

    (void)width;
    for (uint32_t i = 0; i < bytes; ++i) {
        crc ^= from[i ^ flip];
        crc = (crc >> 4) ^ nibbles[crc & 15u];
        crc = (crc >> 4) ^ nibbles[crc & 15u];
    }
    return crc;
}

/* 1 where the pointer at `member` is not `wanted`, else 0. */
GLOWMCU_CODE
static inline uint32_t glowmcu_check_pointer(const volatile void *member, const void *wanted)
{
    const volatile uint8_t *const is = (const volatile uint8_t *)member;
    const uint8_t *const should = (const uint8_t *)&wanted;
    uint32_t wrong = 0;

    for (size_t i = 0; i < sizeof wanted; ++i) {
        wrong |= (uint32_t)(is[i] ^ should[i]);
    }
    return (wrong != 0u) ? 1u : 0u;
}

#endif /* GLOWMCU_CHECK_H */

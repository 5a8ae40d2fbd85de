/*
 * What gcc calls and the ESP8266 has in its ROM, so that Debian's libgcc for Xtensa lacks it; and of
 * the C library what a bundle needs, as that package brings none.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        ((volatile char *)to)[i] = ((const char *)from)[i];
    }
    return to;
}

void *memset(void *to, int value, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        ((volatile char *)to)[i] = (char)value;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    if ((uintptr_t)to <= (uintptr_t)from) {
        return memcpy(to, from, size);
    }
    while (size-- > 0) {
        ((volatile char *)to)[size] = ((const char *)from)[size];
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        const int difference = ((const uint8_t *)a)[i] - ((const uint8_t *)b)[i];
        if (difference != 0) {
            return difference;
        }
    }
    return 0;
}

uint32_t __udivsi3(uint32_t dividend, uint32_t divisor)
{
    uint32_t quotient = 0, rest = 0;
    for (int bit = 31; bit >= 0; --bit) {
        rest = (rest << 1) | ((dividend >> bit) & 1u);
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= UINT32_C(1) << bit;
        }
    }
    return quotient;
}

uint32_t __umodsi3(uint32_t dividend, uint32_t divisor)
{
    return dividend - __udivsi3(dividend, divisor) * divisor;
}

int32_t __divsi3(int32_t dividend, int32_t divisor)
{
    const uint32_t a = (dividend < 0) ? 0u - (uint32_t)dividend : (uint32_t)dividend;
    const uint32_t b = (divisor < 0) ? 0u - (uint32_t)divisor : (uint32_t)divisor;
    const uint32_t quotient = __udivsi3(a, b);
    return (int32_t)(((dividend < 0) != (divisor < 0)) ? 0u - quotient : quotient);
}

typedef union {
    int64_t all;
    uint32_t half[2]; /* the low one first */
} words;

int64_t __muldi3(int64_t first, int64_t second)
{
    const words a = {first}, b = {second};
    const uint32_t al = a.half[0] & 0xFFFFu, ah = a.half[0] >> 16;
    const uint32_t bl = b.half[0] & 0xFFFFu, bh = b.half[0] >> 16;
    const uint32_t low = al * bl, one = al * bh, other = ah * bl;
    const uint32_t middle = (low >> 16) + (one & 0xFFFFu) + (other & 0xFFFFu);
    words result;

    result.half[0] = (low & 0xFFFFu) | (middle << 16);
    result.half[1] = ah * bh + (one >> 16) + (other >> 16) + (middle >> 16)
        + a.half[0] * b.half[1] + a.half[1] * b.half[0];
    return result.all;
}

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t quotient = 0, rest = 0;
    for (int bit = 63; bit >= 0; --bit) {
        rest = (rest << 1) | ((dividend >> bit) & 1u);
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= UINT64_C(1) << bit;
        }
    }
    return quotient;
}

int64_t __divdi3(int64_t dividend, int64_t divisor)
{
    const uint64_t a = (dividend < 0) ? 0u - (uint64_t)dividend : (uint64_t)dividend;
    const uint64_t b = (divisor < 0) ? 0u - (uint64_t)divisor : (uint64_t)divisor;
    const uint64_t quotient = __udivdi3(a, b);
    return (int64_t)(((dividend < 0) != (divisor < 0)) ? 0u - quotient : quotient);
}

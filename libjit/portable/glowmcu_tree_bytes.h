/*
 * glowmcu_tree_bytes.h: int8 in the order of unsigned bytes, for trees that compare those.
 */
#ifndef GLOWMCU_TREE_BYTES_H
#define GLOWMCU_TREE_BYTES_H

#include "glowmcu_tree_keys.h"
#include "glowmcu_words.h"

/* `count` elements, each 128 more than it was; both pointers are multiples of 4. */
GLOWMCU_CODE
static inline void glowmcu_tree_bytes(const int8_t *from, uint8_t *to, int32_t count)
{
    const int8_t *end = from + count;

    for (; end - from >= 4; from += 4, to += 4) {
        uint32_t word;
        (void)memcpy(&word, GLOWMCU_WORD_AT(from), sizeof word);
        word ^= 0x80808080u;
        (void)memcpy(GLOWMCU_WORD_AT(to), &word, sizeof word);
    }
    for (; from < end; ++from, ++to) {
        *to = (uint8_t)((uint32_t)(uint8_t)*from ^ 0x80u);
    }
}

#endif /* GLOWMCU_TREE_BYTES_H */

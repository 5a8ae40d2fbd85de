/*
 * glowmcu_words.h: bytes that are moved by words, four in a round.
 *
 * The memcpy of small libraries moves byte by byte.
 */
#ifndef GLOWMCU_WORDS_H
#define GLOWMCU_WORDS_H

#include <string.h>

#include "glowmcu_base.h"

/* Compilers call memcpy for a word of which they do not know that it is aligned. */
#if defined(__GNUC__) || defined(__clang__)
#define GLOWMCU_WORD_AT(at) __builtin_assume_aligned((at), 4)
#else
#define GLOWMCU_WORD_AT(at) (at)
#endif

/*
 * `size_bytes` from `from` to `to`: both and the size are multiples of 4. Where the two have bytes
 * in common, `to` is below `from`.
 */
GLOWMCU_CODE
static inline void glowmcu_move_words(int8_t *to, const int8_t *from, int32_t size_bytes)
{
    const int8_t *end = from + size_bytes;

    for (; end - from >= 16; from += 16, to += 16) {
        uint32_t a, b, c, d;
        (void)memcpy(&a, GLOWMCU_WORD_AT(from), sizeof a);
        (void)memcpy(&b, GLOWMCU_WORD_AT(from + 4), sizeof b);
        (void)memcpy(&c, GLOWMCU_WORD_AT(from + 8), sizeof c);
        (void)memcpy(&d, GLOWMCU_WORD_AT(from + 12), sizeof d);
        (void)memcpy(GLOWMCU_WORD_AT(to), &a, sizeof a);
        (void)memcpy(GLOWMCU_WORD_AT(to + 4), &b, sizeof b);
        (void)memcpy(GLOWMCU_WORD_AT(to + 8), &c, sizeof c);
        (void)memcpy(GLOWMCU_WORD_AT(to + 12), &d, sizeof d);
    }
    for (; from < end; from += 4, to += 4) {
        uint32_t word;
        (void)memcpy(&word, GLOWMCU_WORD_AT(from), sizeof word);
        (void)memcpy(GLOWMCU_WORD_AT(to), &word, sizeof word);
    }
}

#endif /* GLOWMCU_WORDS_H */

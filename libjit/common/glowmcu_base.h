/*
 * glowmcu_base.h: what every generated file starts from. Freestanding C99.
 *
 * Static assertion, alignment, sections, a shared arena, the step hook.
 */
#ifndef GLOWMCU_BASE_H
#define GLOWMCU_BASE_H

#if !defined(__cplusplus) && !defined(_MSC_VER) /* which supports C99 without saying so */
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "this is C99 or newer: compile it with -std=c99"
#endif
#endif

#include <stddef.h>
#include <stdint.h>

#define GLOWMCU_JOIN2(a, b) a##b
#define GLOWMCU_JOIN(a, b) GLOWMCU_JOIN2(a, b)
/* C99 has no _Static_assert: a false condition declares an array of size -1. */
#define GLOWMCU_STATIC_ASSERT(condition, tag) \
    typedef char GLOWMCU_JOIN(glowmcu_assert_, tag)[(condition) ? 1 : -1]

/* Everything here relies on >> of a negative value copying the sign bit. */
GLOWMCU_STATIC_ASSERT((-1 >> 1) == -1, shift_right_is_arithmetic);
/* And on unsigned words that turn into signed ones with the same bits. */
GLOWMCU_STATIC_ASSERT((int32_t)0xFFFFFFFEu == -2, words_turn_signed_modulo);

/* Packed constants of kernels for DSP and Helium are words that hold the low byte first. */
#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#define GLOWMCU_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#else
#define GLOWMCU_BIG_ENDIAN 0
#endif

/* Alignment attribute, written before a declaration. */
#ifndef GLOWMCU_ALIGNED
#if defined(__GNUC__) || defined(__clang__) || defined(__ARMCC_VERSION) || defined(__ICCARM__)
#define GLOWMCU_ALIGNED(bytes) __attribute__((aligned(bytes)))
#elif defined(_MSC_VER)
#define GLOWMCU_ALIGNED(bytes) __declspec(align(bytes))
#else
#error "define GLOWMCU_ALIGNED(bytes) for this compiler"
#endif
#endif

/* Puts a function or an array into a section of the linker script. */
#ifndef GLOWMCU_SECTION
#if defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
#define GLOWMCU_SECTION(name) __attribute__((section(name)))
#else
#define GLOWMCU_SECTION(name)
#endif
#endif

/* Stands before every function: what puts the code of a source, or of one header, elsewhere. */
#ifndef GLOWMCU_CODE
#define GLOWMCU_CODE
#endif

/* Arrays stay in the order of the source, in which a run reads them: prefetching finds the next. */
#ifndef GLOWMCU_IN_ORDER
#if defined(__GNUC__) && !defined(__clang__)
#define GLOWMCU_IN_ORDER __attribute__((no_reorder))
#else
#define GLOWMCU_IN_ORDER
#endif
#endif

/*
 * One arena for models that run one after the other:
 *   static GLOWMCU_SHARED_ARENA(arena, KWS_ARENA_BYTES, VWW_ARENA_BYTES);
 * For three: GLOWMCU_SHARED_ARENA(arena, A_BYTES, GLOWMCU_LARGER(B_BYTES, C_BYTES)).
 * Its alignment is the largest that a header included by then asks for.
 */
#define GLOWMCU_SHARED_ALIGN 16
#define GLOWMCU_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define GLOWMCU_SHARED_ARENA(arena, bytes, other_bytes) \
    GLOWMCU_ALIGNED(GLOWMCU_SHARED_ALIGN) uint8_t arena[GLOWMCU_LARGER(bytes, other_bytes)]

/* For a loop that takes a function pointer known at compile time: the call must go. */
#ifndef GLOWMCU_ALWAYS_INLINE
#if defined(__GNUC__) || defined(__clang__)
#define GLOWMCU_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define GLOWMCU_ALWAYS_INLINE inline
#endif
#endif

/*
 * -1 for a negative number, else 0. avr-gcc 16 compiles x + (v >> 31) to x + (v < 0): there the
 * shift's result is hidden from what comes after it.
 */
static inline int32_t glowmcu_sign(int32_t v)
{
    int32_t sign = v >> 31;

#if defined(__AVR__) && defined(__GNUC__)
    __asm__("" : "+r"(sign));
#endif
    return sign;
}

/*
 * The first input row under output row `first_row`: where a function that computes a range of rows
 * gets the first rows that it reads and writes, not the tensors' first bytes.
 */
static inline int32_t glowmcu_first_input_row(int32_t first_row, int32_t stride_y, int32_t pad_top)
{
    const int32_t top = first_row * stride_y - pad_top;

    return (top > 0) ? top : 0;
}

/* For a function whose loop is to have all registers. */
#ifndef GLOWMCU_NEVER_INLINE
#if defined(__GNUC__) || defined(__clang__)
#define GLOWMCU_NEVER_INLINE __attribute__((noinline))
#else
#define GLOWMCU_NEVER_INLINE
#endif
#endif

/*
 * Bytes of the arena hold int8 for one layer, int32 or float for another. Compilers that know who
 * reads what type of memory move nothing across this. No instruction.
 */
#ifndef GLOWMCU_FORGET_TYPES
#if defined(__GNUC__) || defined(__clang__)
#define GLOWMCU_FORGET_TYPES() __asm__ volatile("" ::: "memory")
#else
#define GLOWMCU_FORGET_TYPES() ((void)0)
#endif
#endif

/*
 * Whether an entry point refuses a pointer: NULL, or no multiple of `align`. Bundles that are
 * compiled with GLOWMCU_NO_CHECKS do not look.
 */
#ifdef GLOWMCU_NO_CHECKS
#define GLOWMCU_IS_UNUSABLE(pointer, align) 0
#else
#define GLOWMCU_IS_UNUSABLE(pointer, align) \
    ((pointer) == NULL || ((uintptr_t)(pointer) % (uintptr_t)(align)) != 0u)
#endif

/* What entry points return where nothing was done. */
#define GLOWMCU_BAD_ARENA (-1)
#define GLOWMCU_BAD_INPUT (-2)
#define GLOWMCU_NOT_BEGUN (-3)

/* Called before step `index` of a run; define it to trace or to profile. Costs nothing as it is. */
#ifndef GLOWMCU_STEP
#define GLOWMCU_STEP(index) GLOWMCU_FORGET_TYPES()
#endif

#endif /* GLOWMCU_BASE_H */

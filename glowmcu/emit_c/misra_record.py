"""The deviations themselves. One that no bundle needs any more is taken out: a test looks."""

from __future__ import annotations

from glowmcu.emit_c.misra import Deviation, Disapplied

#: A cast of a sum or product, as such or in a macro that counts elements of a size.
_CASTS = r"\((u?int\w*|size_t|float)\)\(|_(LENGTH|BYTES)_AT\("

DEVIATIONS = (
    Deviation(
        "zero-offsets",
        "2.2",
        r"\+ 0\b|\b[01] \* |\* 1\b|_ZERO_POINT\)|GLOWMCU_DEPTHWISE_(ABOVE|BELOW)",
        "Offsets, zero points and factors are written out where they are 0 or 1, so that lines"
        " that stand together read alike and the arena map is seen in the code.",
        "The operation has no effect, and no compiler emits it.",
    ),
    Deviation(
        "assembly-arguments",
        "4.1",
        r"\\\\x",
        "A backslash in the text of an assembly macro names the macro's argument; the C escape is"
        " `\\\\` and ends there.",
        "cppcheck reads the `x` after it as a hexadecimal escape.",
        files=("*.c",),
        tool=True,
    ),
    Deviation(
        "signed-shifts",
        "10.1",
        r"<<|>>|_ASR\(",
        "Fixed-point numbers are signed: `>>` rounds them to minus infinity as the reference does,"
        " and amounts of shifts are signed where they come from a table of multipliers.",
        "A static assertion in `glowmcu_base.h` refuses compilers on which `>>` of a negative value"
        " does not copy the sign. What shifts to the left is unsigned, or a constant below 2^31."
        " Amounts are proved below the width when the bundle is made. Tests run bundles under"
        " `-fsanitize=undefined`.",
    ),
    Deviation(
        "moving-pointers",
        "10.3",
        r"\+= ",
        "A pointer moves by a number of elements; nothing is assigned to a narrower or another"
        " essential type.",
        "cppcheck takes the pointer for a number. Numbers are watched by `-Wconversion`, under"
        " which bundles compile without a warning.",
        tool=True,
    ),
    Deviation(
        "counts-and-sizes",
        "10.4",
        r"\bmade\[|\bcounted\b|\bseed \+=",
        "Rows that a stage of a cascade has made are counted in bytes of memory, to keep the stack"
        " small, and compared with row numbers; sizes are macros of plain integers, so that the"
        " preprocessor can compare them.",
        "All are small and positive: what the other operand turns into holds them.",
        files=("*.c",),
    ),
    Deviation(
        "constant-choices",
        "10.6",
        r"\? \(?-?[0-9]|\bis_\w+ = \(|\bsame =|GLOWMCU_SCALE_MVE_VECTORS",
        "A choice between two constants is no composite expression, and a constant that fits is no"
        " narrower than what it is assigned to.",
        "cppcheck gives the choice the type of the smallest constant.",
        tool=True,
    ),
    Deviation(
        "vector-counts",
        "10.7",
        r"GLOWMCU_SCALE_MVE_VECTORS",
        "The factor is a small constant in a sum of pointers and counts.",
        "cppcheck gives the choice in the macro the type of the smallest constant.",
        files=("glowmcu_*_mve.h",),
        tool=True,
    ),
    Deviation(
        "half-a-step",
        "10.7",
        r"\(int64_t\)1 << \(bits - 1\)",
        "Product and half a step both have 64 bits.",
        "cppcheck takes the product for one of 32 bits; one factor is cast before.",
        files=("glowmcu_softmax_s16.h",),
        tool=True,
        newer=True,
    ),
    Deviation(
        "modular-sums",
        "10.8",
        _CASTS,
        "Sums that may wrap are unsigned and then cast to the signed type; counts that are proved"
        " positive become `size_t`; differences of small integers become `float`. One cast at the"
        " end says so, where a name for every intermediate value would hide the formula.",
        "A static assertion in `glowmcu_base.h` refuses compilers on which words do not turn"
        " signed modulo 2^32; `-Wconversion` finds casts that are missing, `-fsanitize=undefined`"
        " those that overflow.",
    ),
    Deviation(
        "address-of-the-arena",
        "11.6",
        r"GLOWMCU_IS_UNUSABLE\(|\(uintptr_t\)weights",
        "Entry points refuse an arena, an input or weights that are not aligned, for which their"
        " address must be a number.",
        "`uintptr_t` holds every address; the number is only compared.",
        files=("*.c",),
    ),
    Deviation(
        "members-of-constant-structures",
        "11.8",
        r"glowmcu_(depthwise_(pad|keep|fill)|dense_widen|chunks_few)\(",
        "The structure is constant, the memory that a pointer in it leads to is not.",
        "cppcheck mixes the two up; `-Wcast-qual` does not.",
        files=("glowmcu_*.h",),
        tool=True,
    ),
    Deviation(
        "constant-shifts",
        "12.2",
        r"1u << 13\)\) >> 14",
        "The shifted word has 32 bits.",
        "cppcheck takes it for as narrow as the constant that is added.",
        files=("glowmcu_softmax_s16.h",),
        tool=True,
    ),
    Deviation(
        "loops-that-move-pointers",
        "14.2",
        r"for \(.*;[^;]*,[^;]*\) \{|for \(int32_t \w+ = \w+, ",
        "A loop counts in one variable and moves its pointers, or a second count, beside it, so"
        " that all that a turn changes stands in one line.",
        "The counter that ends the loop changes there alone; the rest changes by the same step at"
        " every turn.",
        newer=True,
    ),
    Deviation(
        "last-group-again",
        "14.2",
        r"c = \(c \+ 8 > ",
        "The last group of eight channels begins earlier where fewer than eight are left, and"
        " computes some of them twice.",
        "The loop ends all the same: the counter is set back once, to what makes this turn the"
        " last one.",
        files=("glowmcu_*.h",),
        newer=True,
    ),
    Deviation(
        "stores-where-the-counter-points",
        "14.2",
        r"^\s*\*to = ",
        "The loop counts by the pointer through which it stores; only the loop's head moves that.",
        "cppcheck takes what is stored for a new value of the pointer.",
        files=("glowmcu_stage_entropy.h",),
        tool=True,
    ),
    Deviation(
        "macros-of-names-and-text",
        "20.7",
        r"^#define ",
        "The parameters are names that are declared, text of assembly that is joined, or pairs of a"
        " type and a name: in parentheses they would not compile.",
        "All uses of such a macro are in the bundle and compile without a warning; only `ARENA`"
        " macros are for users, and get a name.",
    ),
    Deviation(
        "copied-words",
        "21.15",
        r"mem(cpy|move|set|cmp)\(",
        "Bytes move between memory and a word, or an integer and a float, by `memcpy`: the one way"
        " of C99 that breaks no rule of aliasing and needs no alignment.",
        "The size is that of the word. Compilers make it one load or store.",
    ),
    Deviation(
        "compared-parameters",
        "21.16",
        r"memcmp\(parameters",
        "Parameters of layers in RAM are compared with the weights that they were copied from.",
        "They were copied as bytes, by `memcpy` of the same size, so that what lies between members"
        " is equal, too; a bit that changed there is found as well.",
        files=("*.c",),
    ),
)

DISAPPLIED = (
    Disapplied("2.3", "no unused types", "a header has types for all bundles that use it"),
    Disapplied("2.4", "no unused tags", "the same"),
    Disapplied("2.5", "no unused macros", "sizes, shapes and scales are macros for the user"),
    Disapplied("2.7", "no unused parameters", "kernels of one form are called the same way"),
    Disapplied("5.9", "internal names are unique", "kernels are static functions of headers"),
    Disapplied("8.7", "no external linkage without need", "entry points are for the user"),
    Disapplied("8.9", "objects in the block that uses them", "constants stand together, to place"),
    Disapplied("8.11", "external arrays have a size", "ends of a region are the linker's symbols"),
    Disapplied("10.5", "no casts between some essential types", "flags become masks"),
    Disapplied("11.4", "no casts between pointers and integers", "alignment is looked at"),
    Disapplied("11.5", "no casts from pointers to void", "an arena has no type of its own"),
    Disapplied("12.1", "parentheses for every precedence", "`a * b + c` is read as in books"),
    Disapplied("12.3", "no comma operator", "a loop moves its pointers in its head"),
    Disapplied("13.3", "increments stand alone", "streams of constants are read with `*w++`"),
    Disapplied("15.5", "one exit at the end", "guards return at once"),
    Disapplied("17.8", "parameters are not assigned", "pointers walk through rows"),
    Disapplied("18.4", "no `+` or `-` on pointers", "rows and planes begin at computed places"),
    Disapplied("20.1", "`#include` comes first", "headers of kernels follow a switch"),
    Disapplied("20.5", "no `#undef`", "code of a layer is placed by a macro that changes"),
    Disapplied("20.10", "no `#` or `##`", "names of instructions and assertions are joined"),
)

"""What functions of straight_assembly.py begin with and do between windows, as macros."""

from __future__ import annotations

from glowmcu.ir.assembly_macros import Macro
from glowmcu.kernels.helium.direct_assembly import BLOCK, P_CHANNELS, P_STEPS, P_STREAM

#: The stack frame.
LEFT, NEXT, CHANNELS, TO_B, APART, STREAM, NOWHERE, _, CLAMP = range(0, 36, 4)
#: What a core needs for them.
FEATURE = "GLOWMCU_HAS_MVE"
ENTER = Macro(
    "GLOWMCU_WINDOWS_ENTER",
    "Saves registers; the frame of `bytes` gets windows, results, channels and the stream.",
    ("bytes",),
    (
        *("push {r4-r11, lr}", "vpush {d8-d15}", r"sub sp, #\bytes"),
        *(f"ldr r4, [r0, #{P_CHANNELS}]", f"ldr r8, [r0, #{P_STREAM}]"),
        *("add r3, #1", f"strd r3, r2, [sp, #{LEFT}]", f"strd r4, r4, [sp, #{CHANNELS}]"),
        *(f"sub r8, #{BLOCK}", f"ldrd r9, r10, [r0, #{P_STEPS}]"),
        *(f"strd r10, r8, [sp, #{APART}]", "sub r1, r1, r10, lsl #1"),
    ),
    FEATURE,
)
_COUNT = (f"ldr r9, [sp, #{LEFT}]", "subs r9, #2", "blt 9f", f"str r9, [sp, #{LEFT}]")
_BEGIN = (f"ldr r5, [sp, #{STREAM}]", "vldrb.8 q0, [r1]")
NEXT_WINDOWS = Macro(
    "GLOWMCU_WINDOWS_NEXT",
    "To the next two windows, `bytes` further, and their first vector; to 9 if there are none.",
    ("bytes",),
    (*_COUNT, r"add r1, #\bytes", *_BEGIN),
    FEATURE,
)
NEXT_PAIR = Macro(
    "GLOWMCU_WINDOWS_NEXT_PAIR",
    "To the next two windows, of a last one to that twice, and their first vector; or to 9.",
    (),
    (
        *(*_COUNT, f"ldr r5, [sp, #{APART}]", "add r1, r1, r5, lsl #1"),
        *("itt eq", "moveq r5, #0", f"streq r5, [sp, #{TO_B}]", "add r11, r1, r5", *_BEGIN),
    ),
    FEATURE,
)
RESULTS = Macro(
    "GLOWMCU_WINDOWS_RESULTS",
    "Where results of both windows go on, and how many channels there are.",
    (),
    (
        *(f"ldr r7, [sp, #{NEXT}]", f"ldr r9, [sp, #{CHANNELS}]", "add r3, r7, r9, lsl #1"),
        *(f"str r3, [sp, #{NEXT}]", f"ldr r3, [sp, #{TO_B}]", "add r3, r7"),
    ),
    FEATURE,
)
#: Of products that stand alone. Others have what is left of scaling between them.
PRODUCTS = (
    Macro(
        "GLOWMCU_WINDOWS_VECTOR",
        "Both windows: channels 2 and 3 end a vector; the next at `x` and `y`, and channel 0.",
        ("x", "y"),
        (
            *("vmladava.s8 r12, q1, q2", "vldrb.8 q2, [r5, #16]!", "vmladava.s8 r6, q0, q3"),
            *(r"vldrb.8 q0, [r1, #\x]", "vmladava.s8 lr, q1, q3", r"vldrb.8 q1, [r1, #\y]"),
            *("vmladava.s8 r0, q0, q2", "vldrb.8 q3, [r5, #16]!", "vmladava.s8 r8, q1, q2"),
        ),
        FEATURE,
    ),
    Macro(
        "GLOWMCU_WINDOWS_MIDDLE",
        "Both windows: channel 1 of a vector, and channel 2 of the first window.",
        (),
        (
            *("vldrb.8 q2, [r5, #16]!", "vmladava.s8 r2, q0, q3", "vmladava.s8 r10, q1, q3"),
            *("vldrb.8 q3, [r5, #16]!", "vmladava.s8 r4, q0, q2"),
        ),
        FEATURE,
    ),
)

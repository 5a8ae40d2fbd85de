"""Every Helium instruction that bundles contain, executed one at a time, as a bundle of its own.

An emulator that gets one of them wrong computes wrong networks; here it is named. `PROBES` are the
instructions in the form that `instruction_forms` makes of a compiler's output: registers without
their numbers. A test holds the list to what kernels really become.

    x int8[64] -> int8[number of probes, 64]

Of the input, q0 to q2 are the first 48 bytes, r4 and r5 the next two words. Of each probe's output
the first 16 bytes are q2, then r4, r5, the distance that r6 moved and zero; then 32 bytes of memory
at r6. Before the instruction r6 points to the input in reverse order, r7 counts 23 bytes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from glowmcu.manifest import BufferEntry, LayerEntry, TensorEntry
from glowmcu.verify.measurement import Array
from tests.verify.tiny_bundle import tiny_manifest

INPUT_BYTES = 64
_PROBE_BYTES = 64

#: Form of the instruction to the assembly that executes it (of q0, q1, q2, r4 to r7).
PROBES: dict[str, tuple[str, ...]] = {
    "asrl r, r, #": ("asrl r4, r5, #7", "asrl r4, r5, #31"),
    "lsll r, r, #": ("lsll r4, r5, #7",),
    "asrl r, r, r": ("asrl r4, r5, r7", "mov r7, #-3; asrl r4, r5, r7"),
    "lsll r, r, r": ("lsll r4, r5, r7", "mov r7, #-3; lsll r4, r5, r7"),
    "dls r, r": ("dls lr, r7; 1: vadd.i32 q2, q2, q0; le lr, 1b",),
    "dlstp.8 r, r": (
        "dlstp.8 lr, r7; 1: vldrb.8 q2, [r6], #16; vmladava.s8 r4, q2, q0; letp lr, 1b",
    ),
    "vadd.f32 q, q, q": (
        "vmov.f32 q0, #3.0; vmov.f32 q1, #1.5; vadd.f32 q2, q0, q1",
    ),
    "vadd.i16 q, q, q": ("vadd.i16 q2, q0, q1",),
    "vadd.i32 q, q, r": ("vadd.i32 q2, q0, r4",),
    "vadd.i32 q, q, q": ("vadd.i32 q2, q0, q1",),
    "vcvt.f32.s32 q, q": ("vcvt.f32.s32 q2, q0",),
    "vaddva.s8 r, q": ("vaddva.s8 r4, q0",),
    "vctp.16 r": (
        "mov r4, #5; vctp.16 r4; vpst; vaddt.i16 q2, q0, q1",
        "mov r4, #9; vctp.16 r4; vpst; vaddt.i16 q2, q0, q1",
    ),
    "vctp.32 r": (
        "mov r4, #3; vctp.32 r4; vpst; vaddt.i32 q2, q0, q1",
        "mov r4, #0; vctp.32 r4; vpst; vaddt.i32 q2, q0, q1",
        "mov r4, #7; vctp.32 r4; vpst; vaddt.i32 q2, q0, q1",
    ),
    "vctp.8 r": (
        "mov r4, #5; vctp.8 r4; vpst; vaddt.i8 q2, q0, q1",
        "mov r4, #17; vctp.8 r4; vpst; vaddt.i8 q2, q0, q1",
    ),
    "vdup.16 q, r": ("vdup.16 q2, r4",),
    "vdup.32 q, r": ("vdup.32 q2, r4",),
    "vdup.8 q, r": ("vdup.8 q2, r4",),
    "vidup.u32 q, r, #": ("vidup.u32 q2, r4, #1", "vidup.u32 q2, r4, #8"),
    "vldrb.8 q, [r, #]": ("vldrb.8 q2, [r6, #3]", "vldrb.8 q2, [r6, #-5]"),
    "vldrb.8 q, [r, #]!": ("vldrb.8 q2, [r6, #5]!",),
    "vldrb.8 q, [r]": ("vldrb.8 q2, [r6]",),
    "vldrb.8 q, [r], #": ("vldrb.8 q2, [r6], #7",),
    "vldrb.s16 q, [r]": ("vldrb.s16 q2, [r6]",),
    "vldrb.s16 q, [r, #]": ("vldrb.s16 q2, [r6, #5]", "vldrb.s16 q2, [r6, #-3]"),
    "vldrb.s16 q, [r], #": ("vldrb.s16 q2, [r6], #9",),
    "vldrb.s32 q, [r]": ("vldrb.s32 q2, [r6]",),
    "vldrb.s32 q, [r], #": ("vldrb.s32 q2, [r6], #4",),
    "vldrbt.8 q, [r]": ("mov r4, #9; vctp.8 r4; vpst; vldrbt.8 q2, [r6]",),
    "vldrbt.s32 q, [r]": ("mov r4, #3; vctp.32 r4; vpst; vldrbt.s32 q2, [r6]",),
    "vldrbt.u8 q, [r]": ("mov r4, #9; vctp.8 r4; vpst; vldrbt.u8 q2, [r6]",),
    "vldrh.16 q, [r]": ("vldrh.16 q2, [r6]",),
    "vldrh.u16 q, [r], #": ("vldrh.u16 q2, [r6], #16",),
    "vldrht.16 q, [r]": ("mov r4, #5; vctp.16 r4; vpst; vldrht.16 q2, [r6]",),
    "vldrht.u16 q, [r], #": (
        "mov r4, #0x3fc; vmsr p0, r4; vpst; vldrht.u16 q2, [r6], #16",
    ),
    "vldrw.32 q, [r, #]": ("vldrw.32 q2, [r6, #8]",),
    "vldrw.32 q, [r, #]!": ("vldrw.32 q2, [r6, #16]!",),
    "vldrw.32 q, [r]": ("vldrw.32 q2, [r6]",),
    "vldrw.32 q, [r], #": ("vldrw.32 q2, [r6], #16",),
    "vldrw.u32 q, [r, #]": ("vldrw.u32 q2, [r6, #-12]",),
    "vldrw.u32 q, [r], #": ("vldrw.u32 q2, [r6], #16",),
    "vldrw.u32 q, [r, q]": ("mov r4, #0; vidup.u32 q1, r4, #8; vldrw.u32 q2, [r6, q1]",),
    "vmax.s8 q, q, q": ("vmax.s8 q2, q0, q1",),
    "vmax.s16 q, q, q": ("vmax.s16 q2, q0, q1",),
    "vmax.s32 q, q, q": ("vmax.s32 q2, q0, q1",),
    "vmin.s16 q, q, q": ("vmin.s16 q2, q0, q1",),
    "vmin.s32 q, q, q": ("vmin.s32 q2, q0, q1",),
    "vmla.s32 q, q, r": ("vmla.s32 q2, q0, r4",),
    "vmladav.s8 r, q, q": ("vmladav.s8 r4, q0, q1",),
    "vmladava.s8 r, q, q": ("vmladava.s8 r4, q0, q1",),
    "vmladava.s16 r, q, q": ("vmladava.s16 r4, q0, q1",),
    "vmlaldava.s16 r, r, q, q": ("vmlaldava.s16 r4, r5, q0, q1",),
    "vmlas.s32 q, q, r": ("vmlas.s32 q2, q0, r4",),
    "vmov q, q": ("vmov q2, q1",),
    "vmov q[2], q[0], r, r": ("vmov q2[2], q2[0], r4, r5",),
    "vmov q[3], q[1], r, r": ("vmov q2[3], q2[1], r4, r5",),
    "vmov.32 q[0], r": ("vmov.32 q2[0], r4",),
    "vmov.32 q[3], r": ("vmov.32 q2[3], r4",),
    "vmov.32 r, q[1]": ("vmov.32 r4, q1[1]",),
    "vmov.32 r, q[2]": ("vmov.32 r4, q1[2]",),
    "vmov.32 r, q[3]": ("vmov.32 r4, q1[3]",),
    "vmov.i16 q, #": ("vmov.i16 q2, #0x7f", "vmov.i16 q2, #0xff00"),
    "vmov.i32 q, #": ("vmov.i32 q2, #0x7f", "vmov.i32 q2, #0xff00"),
    "vmovnt.i32 q, q": ("vmovnt.i32 q2, q0",),
    "vmul.f32 q, q, r": (
        "vmov.f32 q0, #3.0; mov r4, #0x40000000; vmul.f32 q2, q0, r4",
    ),
    "vmul.f32 q, q, q": (
        "vmov.f32 q0, #3.0; vmov.f32 q1, #1.5; vmul.f32 q2, q0, q1",
    ),
    "vmul.i32 q, q, q": ("vmul.i32 q2, q0, q1",),
    "vmul.i32 q, q, r": ("vmul.i32 q2, q0, r4",),
    "vmulh.s32 q, q, q": ("vmulh.s32 q2, q0, q1",),
    "vmullb.s16 q, q, q": ("vmullb.s16 q2, q0, q1",),
    "vmullt.s16 q, q, q": ("vmullt.s16 q2, q0, q1",),
    "vpst": ("mov r4, #2; vctp.32 r4; vpst; vaddt.i32 q2, q0, q1",),
    "vpstt": ("mov r4, #2; vctp.32 r4; vpstt; vaddt.i32 q2, q0, q1; vaddt.i32 q2, q2, q1",),
    "vpstttt": (
        "mov r4, #2; vctp.32 r4; vpstttt; vaddt.i32 q2, q0, q1; vaddt.i32 q2, q2, q1; "
        "vaddt.i32 q2, q2, q1; vaddt.i32 q2, q2, q1",
    ),
    "vqdmulh.s32 q, q, r": ("vqdmulh.s32 q2, q0, r4",),
    "vqmovnb.s16 q, q": ("vqmovnb.s16 q2, q0",),
    "vqmovnb.s32 q, q": ("vqmovnb.s32 q2, q0",),
    "vqmovnt.s32 q, q": ("vqmovnt.s32 q2, q0",),
    "vqrdmulh.s32 q, q, q": ("vqrdmulh.s32 q2, q0, q1",),
    "vrmulh.s32 q, q, q": ("vrmulh.s32 q2, q0, q1",),
    "vrshl.s32 q, q, q": (
        "vldrb.s32 q1, [r6, #16]; vrshl.s32 q2, q0, q1",
        "vmov.i32 q1, #31; vrshl.s32 q2, q0, q1",
    ),
    "vshl.i32 q, q, #": ("vshl.i32 q2, q0, #5",),
    "vshl.i8 q, q, #": ("vshl.i8 q2, q0, #4",),
    "vshl.s32 q, q, q": (
        "vldrb.s32 q1, [r6, #16]; vshl.s32 q2, q0, q1",
        "vmov.i32 q1, #31; vshl.s32 q2, q0, q1",
    ),
    "vshl.s32 q, r": ("mov r4, #-9; vmov q2, q0; vshl.s32 q2, r4", "mov r4, #3; vshl.s32 q2, r4"),
    "vshllb.s16 q, q, #": ("vshllb.s16 q2, q0, #5",),
    "vshllt.s16 q, q, #": ("vshllt.s16 q2, q0, #5",),
    "vshr.s8 q, q, #": ("vshr.s8 q2, q0, #4",),
    "vshr.s32 q, q, #": ("vshr.s32 q2, q0, #13", "vshr.s32 q2, q0, #32"),
    "vshrnb.i32 q, q, #": ("vshrnb.i32 q2, q0, #9",),
    "vshrnt.i32 q, q, #": ("vshrnt.i32 q2, q0, #9",),
    "vorr q, q, q": ("vorr q2, q0, q1",),
    "vst40.8 {q, q, q, q}, [r]": ("vmov q3, q0; vst40.8 {q0, q1, q2, q3}, [r6]",),
    "vst41.8 {q, q, q, q}, [r]": ("vmov q3, q0; vst41.8 {q0, q1, q2, q3}, [r6]",),
    "vst42.8 {q, q, q, q}, [r]": ("vmov q3, q0; vst42.8 {q0, q1, q2, q3}, [r6]",),
    "vst43.8 {q, q, q, q}, [r]!": ("vmov q3, q0; vst43.8 {q0, q1, q2, q3}, [r6]!",),
    "vstrb.16 q, [r]": ("vstrb.16 q0, [r6]",),
    "vstrb.16 q, [r], #": ("vstrb.16 q0, [r6], #8",),
    "vstrb.32 q, [r]": ("vstrb.32 q0, [r6]",),
    "vstrb.32 q, [r], #": ("vstrb.32 q0, [r6], #4",),
    "vstrb.32 q, [r, q]": ("mov r4, #0; vidup.u32 q1, r4, #8; vstrb.32 q0, [r6, q1]",),
    "vstrb.8 q, [r]": ("vstrb.8 q0, [r6]",),
    "vstrb.8 q, [r], #": ("vstrb.8 q0, [r6], #16",),
    "vstrbt.32 q, [r]": ("mov r4, #3; vctp.32 r4; vpst; vstrbt.32 q0, [r6]",),
    "vstrbt.32 q, [r], #": ("mov r4, #3; vctp.32 r4; vpst; vstrbt.32 q0, [r6], #4",),
    "vstrh.16 q, [r]": ("vstrh.16 q0, [r6]",),
    "vstrht.16 q, [r], #": ("mov r4, #5; vctp.16 r4; vpst; vstrht.16 q0, [r6], #16",),
    "vstrht.32 q, [r]": ("mov r4, #3; vctp.32 r4; vpst; vstrht.32 q0, [r6]",),
    "vstrht.32 q, [r], #": ("mov r4, #3; vctp.32 r4; vpst; vstrht.32 q0, [r6], #8",),
    "vstrw.32 q, [r, #]": ("vstrw.32 q0, [r6, #8]",),
    "vstrw.32 q, [r]": ("vstrw.32 q0, [r6]",),
    "vstrw.32 q, [r], #": ("vstrw.32 q0, [r6], #16",),
    "vsub.i16 q, q, r": ("vsub.i16 q2, q0, r4",),
    "vsub.i32 q, q, q": ("vsub.i32 q2, q0, q1",),
    "wls r, r, 2f": ("wls lr, r7, 2f; 1: vadd.i32 q2, q2, q0; le lr, 1b; 2: nop",),
    "wls r, r, 3f": (
        "wls lr, r7, 3f; 2: vadd.i32 q2, q2, q0; le lr, 2b; 3: nop",
        "mov r7, #0; wls lr, r7, 3f; vmov q2, q0; 3: vadd.i32 q2, q2, q1",
    ),
}  # fmt: skip

#: Ends of loops, which stand in the probes of their beginnings; what saves registers on the stack.
_IN_OTHERS = frozenset({"le", "letp", "vpush", "vpop"})
_VECTOR = re.compile(
    r".*\bq\d|(?:vp\w+|vctp\.\d+|dls\w*(?:\.\d+)?|wls\w*(?:\.\d+)?|letp?|lctp|asrl|lsll|sqrshrl?|"
    r"uqrshll?|srshrl?|urshrl?|sqshll?|uqshll?)\b"
)


def instruction_forms(assembly: str) -> set[str]:
    """The Helium instructions of a compiler's assembly output, register numbers taken out."""
    forms = set()
    for line in assembly.splitlines():
        text = re.sub(r"\s+", " ", re.split("@|;|//", line)[0]).strip()
        text = re.sub(r"^\d+: ", "", text)
        if not _VECTOR.match(text):
            continue
        text = re.sub(r"\bq\d+\b", "q", text)
        text = re.sub(r"\b(?:r\d+|ip|lr|sl|fp|sb|sp)\b", "r", text)
        text = re.sub(r"#-?\w+", "#", text)
        forms.add(re.sub(r"^(letp?|vpush|vpop)\b.*", r"\1", text))
    return forms - _IN_OTHERS


def probe_names(probes: dict[str, tuple[str, ...]]) -> list[str]:
    """One row of the output each, in its order."""
    return [code for codes in probes.values() for code in codes]


def differing(got: Array, want: Array, probes: dict[str, tuple[str, ...]]) -> list[str]:
    """The assembly of the probes whose results differ."""
    rows = (got.reshape(-1, _PROBE_BYTES) != want.reshape(-1, _PROBE_BYTES)).any(axis=1)
    return [name for name, differs in zip(probe_names(probes), rows, strict=True) if differs]


def probe_inputs() -> list[list[Array]]:
    """Random bytes, and the values at which signs, rounding and saturation show."""
    generator = np.random.default_rng(55)
    random = [generator.integers(-128, 128, INPUT_BYTES).astype(np.int8) for _ in range(3)]
    ends = np.tile(np.array([0x80000000, 0x7FFFFFFF, 0xFFFF8000, 0x00007FFF], np.uint32), 4)
    halves = np.tile(np.array([0x00400040, 0xFFC0FFC0, 0x80017FFF, 0x0000FFFF], np.uint32), 4)
    return [[x.reshape(1, -1)] for x in (*random, ends.view(np.int8), halves.view(np.int8))]


def write_probe_bundle(directory: Path, probes: dict[str, tuple[str, ...]]) -> Path:
    """A bundle whose `run` executes every probe."""
    directory.mkdir(parents=True, exist_ok=True)
    codes = probe_names(probes)
    output_bytes = _PROBE_BYTES * len(codes)
    header = (
        "#ifndef TINY_H\n#define TINY_H\n#include <stdint.h>\n"
        f"#define TINY_ARENA_BYTES {INPUT_BYTES + output_bytes}\n"
        "int32_t tiny_run(void *arena);\n#endif\n"
    )
    body = "\n".join(_probe(index, code) for index, code in enumerate(codes))
    calls = "\n".join(f"    probe_{index}(in, out + {64 * index});" for index in range(len(codes)))
    source = (
        f'#include "tiny.h"\n#include <stdint.h>\n{body}\n'
        "int32_t tiny_run(void *arena)\n{\n    const int8_t *in = (const int8_t *)arena;\n"
        f"    int8_t *out = (int8_t *)arena + {INPUT_BYTES};\n{calls}\n    return 0;\n}}\n"
    )
    shape = (1, output_bytes)
    manifest = replace(
        tiny_manifest(),
        arena_bytes=INPUT_BYTES + output_bytes,
        inputs=(TensorEntry("x", "", (1, INPUT_BYTES), "int8", 1.0, 0, 0, INPUT_BYTES),),
        outputs=(TensorEntry("y", "", shape, "int8", 1.0, 0, INPUT_BYTES, output_bytes),),
        layers=(LayerEntry(0, "probe", "probe", "probe", 0, 0, 0),),
        buffers=(
            BufferEntry("x", 0, INPUT_BYTES, 0, 0),
            BufferEntry("y", INPUT_BYTES, output_bytes, 0, 1),
        ),
        sources=("tiny.c",),
        headers=("tiny.h",),
    )
    (directory / "tiny.h").write_text(header, encoding="utf-8")
    (directory / "tiny.c").write_text(source, encoding="utf-8")
    (directory / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    return directory


def _probe(index: int, code: str) -> str:
    """A C function around the instruction; memory at r6 has 16 bytes on either side."""
    lines = [part.strip() for part in code.split(";")]
    text = "".join(f'        "{line}\\n\\t"\n' for line in lines)
    return f"""
__attribute__((noinline)) static void probe_{index}(const int8_t *in, int8_t *out)
{{
    int8_t memory[96] __attribute__((aligned(16)));
    int32_t i;
    for (i = 0; i < 96; i++) {{
        memory[i] = (int8_t)(i < 16 || i >= 80 ? i : in[79 - i]);
    }}
    __asm volatile(
        "vldrw.u32 q0, [%0]\\n\\t"
        "vldrw.u32 q1, [%0, #16]\\n\\t"
        "vldrw.u32 q2, [%0, #32]\\n\\t"
        "ldrd r4, r5, [%0, #48]\\n\\t"
        "add r6, %2, #16\\n\\t"
        "movs r7, #23\\n\\t"
{text}        "vstrw.32 q2, [%1]\\n\\t"
        "strd r4, r5, [%1, #16]\\n\\t"
        "subs r6, r6, %2\\n\\t"
        "movs r7, #0\\n\\t"
        "strd r6, r7, [%1, #24]\\n\\t"
        :
        : "r"(in), "r"(out), "r"(memory)
        : "r4", "r5", "r6", "r7", "lr", "cc", "memory", "q0", "q1", "q2", "q3");
    for (i = 0; i < 32; i++) {{
        out[32 + i] = memory[16 + i];
    }}
}}
"""

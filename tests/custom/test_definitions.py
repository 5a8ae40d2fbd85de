"""Operators by definition: index notation means in numpy what its C computes, on every core."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glowmcu
from glowmcu.custom_c import custom_of_bundle, read_custom
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.index_notation import DefinitionError, Plan, plan_of, read_definition
from glowmcu.index_notation.c_code import C_TYPES, body, scratch_bytes
from glowmcu.index_notation.expressions import headers
from glowmcu.index_notation.meaning import results
from glowmcu.input_options import InputOptions
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.libjit_headers import libjit_closure
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import reference_graph
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler

DENSE = '''
def dense(x: "float32[B, I]", w: "float32[O, I]", limit: float = 6.0) -> "y: float32[B, O]":
    """A product with a limit."""
    y[b, o] += w[o, i] * x[b, i]
    y[b, o] = min(y[b, o], limit)
'''
SOFTMAX = """
def softmax(x: "float32[B, C]") -> "y: float32[B, C], top: float32[B]":
    top[b] = max(x[b, k])
    e[b, c] = exp(x[b, c] - top[b])
    total[b] += e[b, k]
    y[b, c] = e[b, c] / total[b]
"""
WINDOWS = """
def windows(x: "float32[T, C]", w: "float32[K, C]", K2: int = 3) -> "y: float32[T - K + 1, C]":
    for t in range(T - K + 1):
        y[t, c] += x[t + k, c] * w[k, c]
    for t in range(T - K + 1):
        for d in range(K2):
            y[t, c] += x[clip(t + d - 1, 0, T - 1), c]
"""
GATHER = """
def gather(x: "float32[N, C]", at: "int32[M]") -> "y: float32[M, C], n: int32[M]":
    y[m, c] = x[clip(at[m], 0, N - 1), c]
    n[m] = abs(at[m]) * 3 - m
"""
INTEGERS = """
def integers(x: "int32[N]", z: "int32[N]") -> "y: int32[N], p: int32[1]":
    y[i] = where(x[i] > z[i] and x[i] != 7, x[i] * z[i] + i, -x[i])
    for j in range(1):
        p[j] *= x[k] - z[k // 2]
"""
ITSELF = """
def itself(x: "int32[N, N]") -> "y: int32[N, N], z: int32[N], a: int32[N]":
    y[i, j] = where(i == i and x[i, j] > 0 or j != j, max(j, j), x[i, clip(j, 0, N - 1)])
    z[i] = where(i <= i, x[i, i], 0) + where(x[i, i] < x[i, i], 1, 2)
    a[i] = where(x[0, i] >= x[0, i], i, 2)
"""
TURNS = """
def turns(x: "int32[N]", w: "int32[M]") -> "y: int32[N], p: int32[N], z: int32[N]":
    for m in range(M):
        y[n] += x[n]
        p[n] *= x[n]
        z[n] = x[n] * w[0]
        z[n] += x[n] + w[m]
"""
MIXED = """
def mixed(x: "float32[N, N]") -> "y: float32[N], z: float32[N]":
    y[i] = x[i, i] * float(i) + 2
    z[i] = sigmoid(y[i]) - sqrt(abs(x[N - 1 - i, i % 3])) + floor(x[i, i // 2])
    z[i] *= tanh(x[i, j]) + 1.0
"""
SHAPES: dict[str, tuple[str, tuple[tuple[tuple[int, ...], str], ...]]] = {
    "a product": (DENSE, (((3, 7), "float32"), ((5, 7), "float32"))),
    "a product of one": (DENSE, (((1, 1), "float32"), ((1, 1), "float32"))),
    "softmax, by temporaries": (SOFTMAX, (((3, 11), "float32"),)),
    "windows": (WINDOWS, (((9, 2), "float32"), ((4, 2), "float32"))),
    "a gather": (GATHER, (((5, 3), "float32"), ((8,), "int32"))),
    "integers": (INTEGERS, (((13,), "int32"), ((13,), "int32"))),
    "what is compared with itself": (ITSELF, (((3, 3), "int32"),)),
    "turns of a loop that a value does not tell apart": (TURNS, (((3,), "int32"), ((4,), "int32"))),
    "functions": (MIXED, (((7, 7), "float32"),)),
}  # fmt: skip


def planned(text: str, inputs: tuple[tuple[tuple[int, ...], str], ...]) -> Plan:
    definition = read_definition(text)
    return plan_of(definition, inputs, tuple(definition.attributes.values()))


def operands(plan: Plan, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [
        generator.integers(-(2**31), 2**31, plan.shapes[form.name]).astype(np.int32)
        if form.dtype == "int32"
        else generator.normal(0, 1.5, plan.shapes[form.name]).astype(np.float32)
        for form in plan.definition.inputs
    ]


def computed_in_c(plan: Plan, inputs: list[np.ndarray], folder: Path) -> list[np.ndarray]:
    """What the lines of C compute, under the sanitizers."""
    forms = [*plan.definition.inputs, *plan.definition.outputs]
    arguments = [f"{C_TYPES[form.dtype]} *p_{form.name}" for form in forms]
    for at in range(len(inputs)):
        arguments[at] = f"const {arguments[at]}"
    scratch = scratch_bytes(plan)
    included = ("glowmcu_base.h", *headers(plan.definition))
    for name, text in libjit_closure(included).items():
        (folder / name).write_text(text)
    arrays, calls, prints = [], [], []
    for form, data in zip(plan.definition.inputs, inputs, strict=True):
        (folder / f"{form.name}.bin").write_bytes(data.tobytes())
        arrays.append(f"static {C_TYPES[form.dtype]} a_{form.name}[{data.size}];")
        calls.append(f'load("{form.name}.bin", a_{form.name}, sizeof a_{form.name});')
    for form in plan.definition.outputs:
        size = int(np.prod(plan.shapes[form.name]))
        arrays.append(f"static {C_TYPES[form.dtype]} a_{form.name}[{size}];")
        prints.append(f"fwrite(a_{form.name}, 1, sizeof a_{form.name}, stdout);")
    given = [f"a_{form.name}" for form in forms] + (["a_scratch"] if scratch else [])
    code = "\n".join([
        "#include <stdio.h>", *(f'#include "{name}"' for name in included), *arrays,
        f"static union {{ int8_t bytes[{max(scratch, 1)}]; float align; }} scratch_memory;",
        f"static void f({', '.join(arguments + (['int8_t *scratch'] if scratch else []))})", "{",
        *body(plan), "}",
        "static void load(const char *name, void *to, size_t size)", "{",
        '    FILE *f = fopen(name, "rb");', "    if (f == NULL || fread(to, 1, size, f) != size) {",
        "        return;", "    }", "    (void)fclose(f);", "}",
        "int main(void)", "{", "    int8_t *a_scratch = scratch_memory.bytes;",
        "    (void)a_scratch;", *calls, f"f({', '.join(given)});", *prints,
        "    return 0;", "}", "",
    ])  # fmt: skip
    (folder / "main.c").write_text(code)
    compiler = host_compiler()
    assert compiler is not None
    flags = [*STRICT_FLAGS, "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    subprocess.run([compiler, *flags, "-I.", "main.c", "-o", "main"], cwd=folder, check=True)
    raw = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True).stdout
    found, start = [], 0
    for form in plan.definition.outputs:
        shape = plan.shapes[form.name]
        size = 4 * int(np.prod(shape))
        found.append(np.frombuffer(raw[start : start + size], form.dtype).reshape(shape))
        start += size
    return found


@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES)
def test_its_c_computes_what_it_means(
    case: tuple[str, tuple[tuple[tuple[int, ...], str], ...]], tmp_path: Path
) -> None:
    plan = planned(*case)
    inputs = operands(plan, 1)
    for want, got in zip(results(plan, inputs), computed_in_c(plan, inputs, tmp_path), strict=True):
        assert want.dtype == got.dtype
        if want.dtype == np.int32:
            assert np.array_equal(want, got)
        else:
            assert np.allclose(want, got, rtol=2e-5, atol=1e-6)


def test_it_means_what_numpy_says() -> None:
    plan = planned(*SHAPES["a product"])
    x, w = operands(plan, 2)
    assert np.allclose(results(plan, [x, w])[0], np.minimum(x @ w.T, 6), rtol=1e-5)
    plan = planned(*SHAPES["softmax, by temporaries"])
    (x,) = operands(plan, 2)
    e = np.exp(x - x.max(1, keepdims=True))
    y, top = results(plan, [x])
    assert np.allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)
    assert np.array_equal(top, x.max(1))
    plan = planned(*SHAPES["windows"])
    x, w = operands(plan, 2)
    padded = np.pad(x, ((1, 0), (0, 0)), "edge")
    wanted = [(x[t : t + 4] * w).sum(0) + padded[t : t + 3].sum(0) for t in range(6)]
    assert np.allclose(results(plan, [x, w])[0], wanted, rtol=1e-5, atol=1e-6)


def test_large_spaces_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(*SHAPES["windows"])
    inputs = operands(plan, 3)
    whole = results(plan, inputs)[0]
    for most in (1, 3, 8, 30):
        monkeypatch.setattr("glowmcu.index_notation.meaning._AT_ONCE", most)
        assert np.allclose(results(plan, inputs)[0], whole, rtol=1e-5, atol=1e-6)


def test_a_long_sum_is_computed_in_parts_of_its_only_index() -> None:
    """No index is walked one by one: of a hundred million values that takes minutes, and memory."""
    plan = planned(
        'def f(x: "int32[N]") -> "y: int32[N]":\n    for k in range(50000000):\n'
        "        y[n] += x[n] * k\n", (((2,), "int32"),),
    )  # fmt: skip
    wanted = np.array([1, 3]) * (50_000_000 * 49_999_999 // 2)
    x = np.array([1, 3], np.int32)
    assert np.array_equal(results(plan, [x])[0], (wanted & 0xFFFFFFFF).astype(np.uint32).view("i4"))


OUTSIDE = {
    "beyond the end": ("x[t + k, c] *", "x[t + k + 1, c] *", 4,
                       "x[t + k + 1, c] reads outside of x: axis 0 has 9 elements, and t + k + 1 "
                       "goes up to 9; clip(t + k + 1, 0, 8) stays inside"),
    "before the start": ("x[clip(t + d - 1, 0, T - 1), c]", "x[t + d - 1, c]", 7,
                         "t + d - 1 goes down to -1"),
    "an index that goes too far": ("* w[k, c]", "* w[t, c] * w[k, c]", 4,
                                   "axis 0 has 4 elements, and t goes up to 5"),
    "a range": ("range(T - K + 1):\n        y", "range(T):\n        y", 4,
                "its indices go to [9, 2]"),
}  # fmt: skip


@pytest.mark.parametrize("case", OUTSIDE.values(), ids=OUTSIDE)
def test_a_read_outside_is_refused_with_its_line(case: tuple[str, str, int, str]) -> None:
    old, new, line, said = case
    assert WINDOWS.count(old) == 1
    with pytest.raises(DefinitionError) as caught:
        planned(WINDOWS.replace(old, new), SHAPES["windows"][1])
    assert said in str(caught.value)
    assert caught.value.line == line


def test_what_data_choose_has_to_be_clipped() -> None:
    text = GATHER.replace("clip(at[m], 0, N - 1)", "at[m]")
    with pytest.raises(DefinitionError, match=r"goes down to -2147483648; clip\(at\[m\], 0, 4\)"):
        planned(text, SHAPES["a gather"][1])


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 9), count=st.integers(1, 9), factor=st.integers(-2, 2),
    offset=st.integers(-9, 9), quotient=st.integers(1, 4),
)  # fmt: skip
def test_what_passes_never_reads_outside(
    size: int, count: int, factor: int, offset: int, quotient: int
) -> None:
    """The proof against all values: numpy takes negative places for others, so they are compared
    with their own.
    """
    place = f"({factor}) * i + ({offset}) - min(i, 2) + i // {quotient} + i % {quotient}"
    text = f'def f(x: "float32[N]") -> "y: float32[{count}]":\n    y[i] = x[{place}]\n'
    i = np.arange(count)
    places = factor * i + offset - np.minimum(i, 2) + i // quotient + i % quotient
    try:
        plan = planned(text, (((size,), "float32"),))
    except DefinitionError:
        return
    assert places.min() >= 0
    assert places.max() < size
    x = np.arange(size, dtype=np.float32)
    assert np.array_equal(results(plan, [x])[0], x[places])


WRONG = {
    "no function": ("x = 1", "it has 0 functions"),
    "two functions": (DENSE + DENSE, "it has 2 functions"),
    "no Python": ("def f(x", "it is not Python"),
    "too many levels": (DENSE.replace("limit)", "limit" + " + limit" * 400 + ")"),
                        "an expression has more than 100 levels, or terms"),
    "no type": ('def f(x) -> "y: float32[1]":\n  y[i] = x[i]', "an operand has no type"),
    "another type": ('def f(x: "int8[N]") -> "y: float32[N]":\n  y[i] = x[i]', "expected float32"),
    "no result": ('def f(x: "float32[N]"):\n  y[i] = x[i]', "it says no result"),
    "no value": (DENSE.replace("y[b, o] +=", "z[b, o] +=").replace("y[b, o] = min(y[b, o], limit)",
                                                                  ""), "gets no value"),
    "another statement": (DENSE + "    return y\n", "neither an assignment nor a `for`"),
    "an import": (DENSE.replace("    y[b, o] +=", "    import os\n    y[b, o] +="), "neither"),
    "a call of something": (DENSE.replace("min(y[b, o], limit)", "eval(y[b, o])"), "no function"),
    "an attribute of something": (DENSE.replace("limit)", "limit.real)"), "no value"),
    "a name that is two things": (DENSE.replace("[b, o]", "[B, o]"), "B is two things"),
    "an index twice": (DENSE.replace("y[b, o] =", "y[b, b] ="), "an index twice"),
    "a place as target": (DENSE.replace("y[b, o] =", "y[b, o + 1] ="), "with an index an axis"),
    "an index that nobody knows": (DENSE.replace("min(y[b, o], limit)", "float(q)"), "how far q"),
    "an index too many": (DENSE.replace("+=", "="), "write +=, *=, max(…) or min(…)"),
    "another element of the target": (DENSE.replace("min(y[b, o]", "min(y[b, 0]"), "same element"),
    "a comparison as value": (DENSE.replace("min(y[b, o], limit)", "y[b, o] < limit"), "use where"),
    "integers as floats": (DENSE.replace("min(y[b, o], limit)", "b"), "write float(…)"),
    "a quotient of integers": (DENSE.replace("limit)", "b / 2)"), "write float(…)"),
    "other sizes": (DENSE.replace('w: "float32[O, I]"', 'w: "float32[O, B]"'), "B is 3"),
    "a float that is none in C": (DENSE.replace("limit)", "1e39)"), "1e+39 is no number of"),
    "an integer of 33 bits": (DENSE.replace("limit)", f"{2**31})"), "2147483648 is no number of"),
    "a large attribute": (DENSE.replace("float = 6.0", f"int = {2**31}"), "an attribute or a size"),
    "an operand that nobody reads": (DENSE.replace(" * x[b, i]", ""), "never read"),
    "the mark of a comment": (DENSE.replace("A product", "A */ product"), "mark of a comment"),
    "a long name": (DENSE.replace("limit", "l" * 40), "letters, digits"),
    "read before written": (DENSE.replace("+= w[o, i]", "+= z[b, o] * w[o, i]"), "before it has"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_no_definition_is_refused(case: tuple[str, str]) -> None:
    text, said = case
    with pytest.raises(DefinitionError) as caught:
        planned(text, SHAPES["a product"][1])
    assert said in str(caught.value)


def model(folder: Path) -> Path:
    b = ModelBuilder()
    x = b.input("x", (3, 7), "float32")
    w = b.constant("w", np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7))
    y = b.tensor("y", (3, 5), "float32")
    b.custom_op("Dense", [x, w], [y])
    b.output(y)
    path = folder / "m.tflite"
    path.write_bytes(b.finish())
    return path


def save(folder: Path, text: str) -> Path:
    path = folder / "dense.py"
    path.write_text(text)
    return path


@pytest.mark.arm
def test_a_model_with_it_compiles_and_is_verified_on_cores(tmp_path: Path) -> None:
    path, file = model(tmp_path), save(tmp_path, DENSE)
    bundle = glowmcu.compile(path, custom={"Dense": file}, board="nrf52", output=tmp_path / "out")
    layer = bundle.report.layers[0]
    assert (layer.op, layer.kernel, layer.macs) == ("defined", "defined.portable", 105)
    file.unlink()
    found = glowmcu.verify(bundle, ["host", "cortex-m"], samples=3, model=path)
    assert found.passed
    assert found.reference == "Python reference of the model"
    said = bundle.manifest.options["custom"]
    assert custom_of_bundle(bundle.path, said)["Dense"].text == DENSE.rstrip() + "\n"


def test_it_has_a_text_form(tmp_path: Path) -> None:
    options = InputOptions(custom=read_custom({"Dense": save(tmp_path, DENSE)}))
    graph = reference_graph(model(tmp_path).read_bytes(), "m.tflite", inputs=options)
    text = print_graph(graph)
    assert print_graph(parse_graph(text, load_operations())) == text
    assert '"glowmcu.defined"' in text


def test_a_definition_that_reads_outside_is_refused_with_node_and_line(tmp_path: Path) -> None:
    custom = {"Dense": save(tmp_path, DENSE.replace("x[b, i]", "x[b, i + 1]"))}
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(model(tmp_path), custom=custom, output=tmp_path / "out")
    assert caught.value.code == "GM106"
    assert "dense.py, line 4: x[b, i + 1] reads outside of x" in str(caught.value)
    assert 'node 0 "y"' in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_definition_is_said_before_the_model_is_read(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        read_custom({"Dense": save(tmp_path, "print('hello')\n")})
    assert caught.value.code == "GM766"
    assert "dense.py" in str(caught.value)


def test_a_quantized_model_keeps_float_what_is_no_composition(tmp_path: Path) -> None:
    samples = np.random.default_rng(2).normal(0, 1, (9, 3, 7)).astype(np.float32)
    text = DENSE.replace("x[b, i]", "x[b, clip(i, 0, I - 1)]")
    custom = {"Dense": save(tmp_path, text)}
    bundle = glowmcu.compile(
        model(tmp_path), custom=custom, samples=samples, output=tmp_path / "out"
    )
    assert "defined" in [layer.op for layer in bundle.report.layers]
    assert glowmcu.verify(bundle, ["host"]).passed


NEGATE = """
def negate(x: "float32[N, M]") -> "y: float32[N, M]":
    y[n, i] = -x[n, i]
"""


def test_a_builtin_operator_without_an_importer_gets_a_meaning(tmp_path: Path) -> None:
    b = ModelBuilder()
    x, y = b.input("x", (2, 5), "float32"), b.tensor("y", (2, 5), "float32")
    b.op("STABLEHLO_NEGATE", [x], [y])
    b.output(y)
    (tmp_path / "m.tflite").write_bytes(b.finish())
    custom = {"STABLEHLO_NEGATE": save(tmp_path, NEGATE)}
    bundle = glowmcu.compile(tmp_path / "m.tflite", custom=custom, output=tmp_path / "out")
    data = np.random.default_rng(6).normal(0, 1, (2, 5)).astype(np.float32)
    assert np.array_equal(bundle.run([data])[0], -data)


def test_numbers_that_are_not_those_of_the_attributes_are_refused() -> None:
    with pytest.raises(DefinitionError, match="1 attributes, got 0"):
        plan_of(read_definition(DENSE), SHAPES["a product"][1], ())

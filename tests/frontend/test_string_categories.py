"""Features that are strings: numbers of categories, by the encoders that scikit-learn exports."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.compilation import Compilation, Options
from glowmcu.emit_c.category_views import category_views
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.string_categories import UNKNOWN, categories_of
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.support.check_model import Array, check_model, write_bundle

DRAW = np.random.default_rng(0)
COLORS = DRAW.choice(["red", "green", "blue"], 80).astype(object)
SIZES = DRAW.choice(["S", "M", "L", "XL"], 80).astype(object)
REAL = DRAW.normal(size=(80, 2)).astype(np.float32)
TARGETS = ((COLORS == "red") & (REAL[:, 0] > 0) | (SIZES == "XL")).astype(int)


def encoder(kind: str, **options: Any) -> Any:
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="pip install scikit-learn")
    return getattr(preprocessing, kind)(**options)


def fitted(encoding: Any, table: Array) -> Any:
    """A logistic regression behind an encoder."""
    pipeline = pytest.importorskip("sklearn.pipeline", reason="pip install scikit-learn")
    linear = pytest.importorskip("sklearn.linear_model", reason="pip install scikit-learn")
    return pipeline.make_pipeline(encoding, linear.LogisticRegression()).fit(table, TARGETS)


def exported(model: Any, types: list[tuple[str, Any]]) -> bytes:
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
    done = skl2onnx.to_onnx(
        model, initial_types=types, options={"zipmap": False},
        target_opset={"": 17, "ai.onnx.ml": 3},
    )  # fmt: skip
    data: bytes = done.SerializeToString()
    return data


def of_strings(model: Any, columns: int) -> bytes:
    types = pytest.importorskip("skl2onnx.common.data_types", reason="pip install skl2onnx")
    return exported(model, [("x", types.StringTensorType([None, columns]))])


def numbers(done: Compilation, row: Array) -> Array:
    """Strings as the bundle's numbers."""
    names = categories_of(done.imported.metadata)
    found = [names.index(text) if text in names else UNKNOWN for text in row]
    return np.array([found], np.int32)


ENCODERS = {
    "one hot": ("OneHotEncoder", {}),
    "one hot, others none": ("OneHotEncoder", {"handle_unknown": "ignore"}),
    "one hot without the first": ("OneHotEncoder", {"drop": "first"}),
    "by number": ("OrdinalEncoder", {}),
    "by number, others -1": (
        "OrdinalEncoder", {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "options"), ENCODERS.values(), ids=ENCODERS)
def test_a_table_of_strings_gives_what_scikit_learn_says(
    kind: str, options: dict[str, Any]
) -> None:
    table = np.stack([COLORS, SIZES], 1)
    model = fitted(encoder(kind, **options), table)
    rows = table[:12]
    if "handle_unknown" in options:
        rows = np.concatenate([rows, np.array([["pink", "M"], ["red", "S "]], object)])
    data = of_strings(model, 2)
    compiled = compile_model(data, "m.onnx", Options("m"))
    sets = [[numbers(compiled, row)] for row in rows]
    done = check_model(data, sets, options=Options("m"))
    for given, row in zip(sets, rows, strict=True):
        label, scores = run_graph(done.imported, given)
        assert label == model.predict(row[np.newaxis])
        np.testing.assert_allclose(scores, model.predict_proba(row[np.newaxis]), atol=1e-5)


def test_columns_of_strings_and_numbers_are_inputs_of_their_own() -> None:
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    compose = pytest.importorskip("sklearn.compose", reason="pip install scikit-learn")
    types = pytest.importorskip("skl2onnx.common.data_types", reason="pip install skl2onnx")
    table = pandas.DataFrame({"color": COLORS, "size": SIZES, "t": REAL[:, 0], "p": REAL[:, 1]})
    columns = [
        ("c", encoder("OneHotEncoder"), ["color", "size"]),
        ("n", encoder("StandardScaler"), ["t", "p"]),
    ]
    model = fitted(compose.ColumnTransformer(columns), table)
    text, real = types.StringTensorType([None, 1]), types.FloatTensorType([None, 1])
    data = exported(model, [("color", text), ("size", text), ("t", real), ("p", real)])
    done = compile_model(data, "m.onnx", Options("m"))
    assert [value.name for value in done.imported.arguments] == ["color", "size", "t", "p"]
    assert sum("number of a category" in note for note in done.notes) == 2
    for at in range(8):
        inputs = [numbers(done, item[at : at + 1]) for item in (COLORS, SIZES)]
        inputs += [REAL[at : at + 1, :1], REAL[at : at + 1, 1:]]
        label, scores = run_graph(done.imported, inputs)
        assert label == model.predict(table[at : at + 1])
        np.testing.assert_allclose(scores, model.predict_proba(table[at : at + 1]), atol=1e-5)


def test_the_header_has_numbers_and_names(tmp_path: Path) -> None:
    odd = np.array(["a b", "A-B", "", "<=50K", 'quo"te', "grün", "unknown", "category"], object)
    table = DRAW.choice(odd, (80, 1))
    model = fitted(encoder("OneHotEncoder", categories=[odd]), table)
    done = compile_model(of_strings(model, 1), "m.onnx", Options("m"))
    folder = write_bundle(done, tmp_path)
    names = categories_of(done.imported.metadata)
    assert names == tuple(odd)
    source = tmp_path / "use.c"
    tests = [
        f"if (m_category({_literal(name)}) != {number}) {{ return {number + 1}; }}"
        for number, name in enumerate(names)
    ]
    source.write_text(
        '#include "m.h"\nint main(void)\n{\n'
        + "\n".join(tests)
        + '\nif (m_category("none") != M_CATEGORY_UNKNOWN) { return 90; }'
        + "\nif (M_CATEGORY_A_B != 0 || M_CATEGORY_CATEGORY != 7) { return 91; }"
        + "\nreturn M_CATEGORY_COUNT == 8 ? 0 : 92;\n}\n"
    )
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    program = tmp_path / "use"
    subprocess.run(
        [compiler, *STRICT_FLAGS, f"-I{folder}", str(source), "-o", str(program)], check=True
    )
    assert subprocess.run([program], check=False).returncode == 0


def _literal(text: str) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def test_enumerators_differ_in_what_compilers_look_at() -> None:
    names = ["the same for a long while, then a", "the same for a long while, then b", "unknown"]
    found = [item.identifier for item in category_views(names, "a_model_category_")]
    starts = {f"A_MODEL_CATEGORY_{name}"[:31] for name in (*found, "UNKNOWN")}
    assert len(starts) == 4


def test_what_computes_with_strings_otherwise_is_refused_by_name() -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, proto = onnx.helper, onnx.TensorProto
    node = helper.make_node("Cast", ["x"], ["y"], to=proto.FLOAT)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", proto.STRING, (1, 2))],
        [helper.make_tensor_value_info("y", proto.FLOAT, (1, 2))],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    with pytest.raises(GlowmcuError, match="GM105") as found:
        compile_model(data, "m.onnx", Options("m"))
    assert "Cast of strings" in str(found.value)
    assert "OneHotEncoder or OrdinalEncoder" in str(found.value)


@pytest.mark.parametrize("kind", ["RandomForestClassifier", "LogisticRegression"])
def test_scores_of_several_outputs_are_outputs_each(kind: str) -> None:
    """A MultiOutputClassifier's probabilities are a sequence of tensors in the file."""
    outputs = pytest.importorskip("sklearn.multioutput", reason="pip install scikit-learn")
    modules = [pytest.importorskip(f"sklearn.{name}") for name in ("ensemble", "linear_model")]
    types = pytest.importorskip("skl2onnx.common.data_types", reason="pip install skl2onnx")
    made = next(getattr(module, kind) for module in modules if hasattr(module, kind))
    options = {"n_estimators": 5, "random_state": 0} if kind.startswith("Random") else {}
    wanted = np.stack([TARGETS + (REAL[:, 1] > 1), REAL[:, 1] > 0], 1).astype(int)
    model = outputs.MultiOutputClassifier(made(**options)).fit(REAL, wanted)
    data = exported(model, [("x", types.FloatTensorType([None, 2]))])
    done = compile_model(data, "m.onnx", Options("m"))
    names = [value.name for value in done.imported.results]
    assert names == ["label", "probabilities_0", "probabilities_1"]
    for row in REAL[:6]:
        label, *scores = run_graph(done.imported, [row[np.newaxis]])
        assert (label == model.predict(row[np.newaxis])).all()
        for got, want in zip(scores, model.predict_proba(row[np.newaxis]), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-5)


def test_strings_are_taken_from_python(tmp_path: Path) -> None:
    table = np.stack([COLORS, SIZES], axis=1)
    data = of_strings(fitted(encoder("OneHotEncoder", handle_unknown="ignore"), table), 2)
    bundle = glowmcu.compile(data, name="m", output=tmp_path / "m", samples=list(table[:20]))
    assert set(bundle.categories) == {*COLORS, *SIZES}
    row = np.array([[bundle.categories.index("red"), UNKNOWN]], np.int32)
    expected = [output.tolist() for output in bundle.run([row])]
    for given in ([[["red", "none"]]], [np.array([["red", "none"]], object)]):
        assert [output.tolist() for output in bundle.run(given)] == expected
        real = bundle.run(given, real=True)
        assert [output.shape for output in real] == [np.shape(output) for output in expected]


def test_words_are_categories_of_inputs_of_strings_alone(tmp_path: Path) -> None:
    """A number that was read as text is no category."""
    compose = pytest.importorskip("sklearn.compose", reason="pip install scikit-learn")
    types = pytest.importorskip("skl2onnx.common.data_types", reason="pip install skl2onnx")
    table = np.stack([COLORS, REAL[:, 0].astype(object)], axis=1)
    columns = compose.ColumnTransformer(
        [("color", encoder("OneHotEncoder"), [0]), ("real", "passthrough", [1])]
    )
    inputs = [
        ("color", types.StringTensorType([None, 1])), ("real", types.FloatTensorType([None, 1])),
    ]  # fmt: skip
    data = exported(fitted(columns, table), inputs)
    bundle = glowmcu.compile(data, name="m", output=tmp_path / "m")
    assert bundle.manifest.string_inputs == ("color",)
    for real in (False, True):
        with pytest.raises(GlowmcuError, match="input 'real'"):
            bundle.run([[["red"]], [["0.5"]]], real=real)
    rows = [{"color": "red", "real": "0.5"}]
    with pytest.raises(GlowmcuError, match="is no number"):
        glowmcu.profile(data, rows)

"""What `glowmcu.` offers: public names alone, whatever was imported before, and how they behave."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import glowmcu
from glowmcu import option_words
from glowmcu.cores import core_names
from glowmcu.emit_c.packages.package import all_packages
from glowmcu.examples import examples
from glowmcu.goals import Goal
from glowmcu.interface_options import Weights
from glowmcu.ir.operation import Rounding
from glowmcu.quant.options import Interface
from glowmcu.quant.ranges import Method
from glowmcu.quant.schemas import Schema
from glowmcu.verify.executors import EXECUTOR_NAMES

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"


def said(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_completion_offers_public_names_alone() -> None:
    assert dir(glowmcu) == sorted(glowmcu.__all__)
    assert {"bench", "compile", "inspect", "profile", "report", "tune", "verify"} <= set(
        dir(glowmcu)
    )


@pytest.mark.parametrize(
    "before",
    [
        "import glowmcu.verify.executors, glowmcu.report.tables, glowmcu.api.inspection",
        "from glowmcu.report.page import report_page; from glowmcu.verify import toolchain",
        "import glowmcu; glowmcu.verify, glowmcu.report; import glowmcu.verify, glowmcu.report",
    ],
    ids=["modules below", "names of modules", "the packages themselves"],
)
def test_functions_stay_functions_whatever_is_imported(before: str) -> None:
    shown = said(
        f"{before}; import glowmcu, types; "
        "print(all(not isinstance(getattr(glowmcu, name), types.ModuleType) for name in "
        "glowmcu.__all__), glowmcu.verify.__name__, glowmcu.report.__name__, "
        "dir(glowmcu) == sorted(glowmcu.__all__))"
    )
    assert shown == ["True", "verify", "report", "True"]


def test_a_star_takes_all_of_them() -> None:
    names = said("from glowmcu import *; print(*[n for n in dir() if not n.startswith('__')])")
    assert set(names) == {name for name in glowmcu.__all__ if not name.startswith("__")}


def test_modules_below_functions_of_the_same_name_stay_importable() -> None:
    from glowmcu.report import tables
    from glowmcu.verify import toolchain

    assert (tables.__name__, toolchain.__name__) == (
        "glowmcu.report.tables", "glowmcu.verify.toolchain",
    )  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "import glowmcu.report.tables as t; print(t.count.__name__)",
        "import glowmcu; glowmcu.report; import glowmcu.report.tables as t; "
        "print(t.count.__name__)",
        "import glowmcu.report.tables; print(glowmcu.report.tables.count.__name__)",
        "import glowmcu.verify.cortex_m.hot as h, glowmcu.report.tables as t; "
        "print(t.count.__name__)",
        "import importlib, glowmcu; importlib.reload(glowmcu); import glowmcu.report.tables as t; "
        "print(t.count.__name__)",
        "from unittest import mock\nwith mock.patch('glowmcu.report.tables.count'): print('count')",
        # Since Python 3.14 the name is the package's, not the function's.
        "import pydoc; assert 'arena_map' in pydoc.render_doc('glowmcu.report') or "
        "'Path' in pydoc.render_doc('glowmcu.report'); print('count')",
        "import glowmcu, pydoc; assert 'Path' in pydoc.render_doc(glowmcu.report); print('count')",
    ],
)
def test_every_way_to_name_a_module_below_such_a_function_works(code: str) -> None:
    assert said(code) == ["count"]


@pytest.mark.parametrize("name", [n for n in glowmcu.__all__ if n != "__version__"])
def test_functions_and_classes_are_pickled_by_name(name: str) -> None:
    value = getattr(glowmcu, name)
    assert pickle.loads(pickle.dumps(value)) is value


def test_bundles_and_results_survive_pickling_and_copying(tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, output=tmp_path / "b", pareto=True)
    found = [bundle, bundle.report, glowmcu.inspect(DIGITS), glowmcu.verify(bundle, samples=0)]
    found.append(glowmcu.report(bundle))
    for value in found:
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == copy.copy(value) == value


WORDS = [
    (option_words.Optimize, {goal.value for goal in Goal}),
    (option_words.RoundingWord, {rounding.value for rounding in Rounding}),
    (option_words.SchemaWord, {schema.value for schema in Schema}),
    (option_words.WeightsWord, {weights.value for weights in Weights}),
    (option_words.TunedIoWord, {interface.value for interface in Interface}),
    (option_words.CoreName, set(core_names())),
    (option_words.ExecutorName, set(EXECUTOR_NAMES)),
    (option_words.ExampleName, set(examples())),
]


@pytest.mark.parametrize(("words", "known"), WORDS, ids=[str(sorted(k)) for _, k in WORDS])
def test_the_words_of_options_are_those_that_are_understood(words: object, known: set[str]) -> None:
    assert set(get_args(words)) == known


def test_every_package_and_calibration_has_its_word() -> None:
    ours = {name for name, item in all_packages().items() if item.files.__module__.startswith(
        "glowmcu.")}  # fmt: skip
    assert set(get_args(option_words.PackageName)) == ours
    words = {str(word).partition(":")[0] for word in get_args(option_words.CalibrationWord)}
    assert words == {method.value for method in Method}


def test_a_share_of_ones_own_is_a_percentile() -> None:
    from glowmcu.quant.options import QuantizationOptions

    chosen = glowmcu.Quantization(calibration=("percentile", 99.5)).over(QuantizationOptions())
    assert chosen.calibration.percentile == 99.5


def test_the_package_goes_to_other_processes_by_its_name() -> None:
    """As cloudpickle, which knows modules by their exact type, sends what a function uses."""
    assert pickle.loads(pickle.dumps(glowmcu)) is glowmcu

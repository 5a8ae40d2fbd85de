"""Runs tests against mutants: pytest collects once, then each mutant has a process of its own.

The process swaps the code of the functions that differ, forgets what functions had cached, and runs
the tests that reach the changed statement, the shortest first, until one fails. Which tests reach
what is found out first, by code that notes its statements; build/mutants keeps it for as long as
the tests' file and the files that are `noted` are the same.
"""

from __future__ import annotations

import ast
import builtins
import gc
import hashlib
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"  # a fork leaves the threads of a BLAS behind

import hypothesis  # noqa: E402 - after the threads
import pytest  # noqa: E402

from benchmarks.mutant_areas import REPO, Area  # noqa: E402
from benchmarks.mutant_child import Child, first_ended, in_child  # noqa: E402
from benchmarks.mutant_sites import Mutant, mutated  # noqa: E402

MOST_MEMORY = 6 << 30
#: Seconds that all tests of one mutant may take by their time without it.
MOST_TEST_S = 20
#: Seconds of the clock for all tests of one mutant, and for each second that they take without it:
#: the time of the processor ends what computes, this what waits, on a busy computer, too.
LEAST_CLOCK_S, CLOCK_FACTOR = 60, 10
#: And for the tests without mutants.
MOST_NOTING_S = 3600
_WORK = REPO / "build" / "mutants"
_NOTES = "_notes_of_mutants"


@dataclass(frozen=True)
class Fate:
    """`killer` is the test that failed, or what else ended it; empty for a survivor."""

    mutant: Mutant
    killer: str
    tests: int


@dataclass(frozen=True)
class _Known:
    """Of a test that passes: its seconds, and the statements it reaches as `file:line`."""

    seconds: float
    reached: frozenset[str]


class Runner:
    """A plugin of pytest that runs tests against mutants instead of once."""

    def __init__(
        self, area: Area, mutants: Sequence[Mutant], jobs: int, tell: Callable[[Fate], None]
    ) -> None:
        self.area, self.mutants, self.jobs, self.tell = area, mutants, jobs, tell
        self.failed = ""
        self.broken: list[str] = []

    def run(self) -> int:
        """pytest's exit code, 0 where tests could be collected."""
        options = ["--import-mode=importlib", "-q", "-s", "-p", "no:cacheprovider"]
        # A case that `make test` leaves out for its second is quick enough for one mutant.
        options += ["-o", "addopts=", "-m", "not slow", "--long", "also"]
        arguments = [*options, *self.area.tests]
        return int(pytest.main(arguments, plugins=[self]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Examples are the same ones each time, and nothing is made smaller that fails."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "mutants", deadline=None, derandomize=True, database=None, phases=phases
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of pytest's own."""
        gc.unfreeze()  # functions are found among all objects, those of tests/conftest.py too
        for file in self.area.noted_sources:  # what a test imports later would be what is stored
            import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        known = self._known(session)
        waiting = list(reversed(self.mutants))
        running: dict[Child, tuple[Mutant, int]] = {}
        try:
            while waiting or running:
                if waiting and len(running) < self.jobs:
                    self._begin(waiting.pop(), session.items, known, running)
                    continue
                child = first_ended(running)
                mutant, count = running.pop(child)
                self.tell(Fate(mutant, child.answer(), count))
        finally:
            for child in running:
                child.close()
        return True

    def _begin(
        self,
        mutant: Mutant,
        collected: Sequence[pytest.Item],
        known: dict[str, _Known],
        running: dict[Child, tuple[Mutant, int]],
    ) -> None:
        """Try the tests of a mutant in one more process, unless there are none."""
        items = _reaching(collected, known, mutant)
        if not items:
            self.tell(Fate(mutant, "", 0))
            return
        seconds = sum(known[item.nodeid].seconds for item in items)
        child = in_child(
            lambda: self._try(mutant, items, known), LEAST_CLOCK_S + CLOCK_FACTOR * seconds
        )
        running[child] = mutant, len(items)

    def _try(
        self, mutant: Mutant, items: Sequence[pytest.Item], known: Mapping[str, _Known]
    ) -> str:
        """In a process of its own: the test that fails."""
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        source = (REPO / mutant.file).read_text(encoding="utf-8")
        swap_code({REPO / mutant.file: mutated(source, mutant)})
        for item, following in zip(items, [*items[1:], None], strict=True):
            # Time of the processor, as computers are busy; its signal ends the process.
            signal.setitimer(signal.ITIMER_PROF, 4 * known[item.nodeid].seconds + 3)
            self._run(item, following)
            if self.failed:
                return self.failed
        return ""

    def _run(self, item: pytest.Item, following: pytest.Item | None) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def _known(self, session: pytest.Session) -> dict[str, _Known]:
        """Kept or new; tests that fail without any mutant are left out and `broken`."""
        texts = [(REPO / file).read_bytes() for file in self.area.noted_sources]
        state = hashlib.sha256(b"".join(texts)).hexdigest()
        names = {item.nodeid: _file_of(item.nodeid, item.path.read_bytes(), state)
                 for item in session.items}  # fmt: skip
        found: dict[str, _Known | None] = {}
        missing = []
        for item in session.items:
            file = _WORK / f"{names[item.nodeid]}.json"
            if file.is_file():
                seconds, reached = json.loads(file.read_text(encoding="utf-8"))
                found[item.nodeid] = _Known(seconds, frozenset(reached)) if seconds else None
            else:
                missing.append(item)
        if missing:
            print(f"{len(missing)} tests without mutants first", flush=True)
            noting = [
                in_child(partial(self._note, part, names), MOST_NOTING_S)
                for part in _parts(missing, self.jobs)
            ]
            answers = [child.answer() for child in noting]
            assert not any(answers), answers
            return self._known(session)
        self.broken = sorted(name for name, test in found.items() if test is None)
        return {name: test for name, test in found.items() if test is not None}

    def _note(self, items: Sequence[pytest.Item], names: dict[str, str]) -> str:
        """In a process of its own: run tests with code that notes its statements."""
        reached: set[str] = set()
        setattr(builtins, _NOTES, reached)
        trees: dict[Path, ast.Module] = {}
        for file in self.area.noted_sources:
            tree = _Noting(file).visit(ast.parse((REPO / file).read_text(encoding="utf-8")))
            trees[REPO / file] = ast.fix_missing_locations(tree)
        swap_code(trees)
        _WORK.mkdir(parents=True, exist_ok=True)
        for item, following in zip(items, [*items[1:], None], strict=True):
            reached.clear()
            self.failed, begin = "", time.process_time() + _of_children()
            self._run(item, following)
            seconds = time.process_time() + _of_children() - begin
            body = [0 if self.failed else max(round(seconds, 4), 1e-4), sorted(reached)]
            (_WORK / f"{names[item.nodeid]}.json").write_text(json.dumps(body), encoding="utf-8")
        return ""


def _parts(items: Sequence[pytest.Item], count: int) -> list[list[pytest.Item]]:
    """As many at most, alike in length, tests of one file together for what they share."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(min(count, len(files)))]
    for file in sorted(files.values(), key=len, reverse=True):
        min(parts, key=len).extend(file)
    return parts


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _file_of(test: str, text: bytes, state: str) -> str:
    return hashlib.sha256(f"{test}\n{state}\n".encode() + text).hexdigest()


def _reaching(
    items: Iterable[pytest.Item], known: dict[str, _Known], mutant: Mutant
) -> list[pytest.Item]:
    """The tests of a mutant, the shortest first, as many as there is time for."""
    place = f"{mutant.file}:{mutant.line}"
    found = [item for item in items if item.nodeid in known and place in known[item.nodeid].reached]
    found.sort(key=lambda item: known[item.nodeid].seconds)
    chosen, seconds = [], 0.0
    for item in found:
        seconds += known[item.nodeid].seconds
        if not chosen or seconds <= MOST_TEST_S:
            chosen.append(item)
    return chosen


def swap_code(trees: Mapping[Path, ast.Module]) -> None:
    """Give living functions of files the code of another version of them with the same lines."""
    codes: dict[str, dict[tuple[str, int], CodeType | None]] = {}
    for file, tree in trees.items():
        found = codes.setdefault(str(file), {})
        _collect(compile(tree, str(file), "exec", dont_inherit=True), found)
    for thing in gc.get_objects():
        if isinstance(thing, _lru_cache_wrapper):
            thing.cache_clear()
        elif isinstance(thing, FunctionType) and thing.__code__.co_filename in codes:
            code = thing.__code__
            new = codes[code.co_filename].get((code.co_qualname, code.co_firstlineno))
            # What cannot be swapped survives, and so is read by somebody.
            if new is not None and new.co_freevars == code.co_freevars:
                thing.__code__ = new


def _collect(code: CodeType, codes: dict[tuple[str, int], CodeType | None]) -> None:
    """By name and first line, None where two have the same (lambdas of one line)."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            key = constant.co_qualname, constant.co_firstlineno
            codes[key] = None if key in codes else constant
            _collect(constant, codes)


class _Noting(ast.NodeTransformer):
    """Puts a note in front of each statement of functions."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody") if self._depth else ():
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [new for old in statements for new in self._noted(old)])
        return node

    def _noted(self, statement: ast.stmt) -> list[ast.stmt]:
        text = f"{_NOTES}.add({self._file + ':' + str(statement.lineno)!r})"
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return [statement]  # a docstring stays the first
        note = ast.parse(text).body[0]
        for node in ast.walk(note):
            ast.copy_location(node, statement)
        return [note, statement]

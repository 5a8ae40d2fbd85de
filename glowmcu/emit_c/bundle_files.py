"""The files of a bundle as text, by name. No dates, no paths: the same bytes on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from glowmcu.custom_c import custom_headers
from glowmcu.emit_c.build_views import Chosen, Layers, buffer_views, layers
from glowmcu.emit_c.bundle_blob import bundle_blob
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.c_text import c_literal, c_number, check_bundle_name, comment_text
from glowmcu.emit_c.category_views import category_views
from glowmcu.emit_c.contract import (
    BUNDLE_MARK,
    COMPILER_MARK,
    header_checks,
    libjit_closure,
    stamped,
    with_digests,
)
from glowmcu.emit_c.costs_view import CostsView, cost_entry, costs_view
from glowmcu.emit_c.delegate_text import with_estimate
from glowmcu.emit_c.golden_text import golden_json, vector_view
from glowmcu.emit_c.learning_view import learning_view
from glowmcu.emit_c.library_calls import library_calls
from glowmcu.emit_c.licenses import terms
from glowmcu.emit_c.manifest_entries import bundle_manifest
from glowmcu.emit_c.misra import RECORD_FILE, disapplied_table, places, table
from glowmcu.emit_c.misra_record import DEVIATIONS, DISAPPLIED
from glowmcu.emit_c.naked_frames import has_naked, naked_frames
from glowmcu.emit_c.output_checks import CRC, CheckView, output_checks
from glowmcu.emit_c.packages.package import PackageView, package_files, package_rows
from glowmcu.emit_c.placement_text import placement_view
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.size_view import size_view, with_lengths
from glowmcu.emit_c.stages_view import stages_view
from glowmcu.emit_c.steps_view import RunStepsView, progress_buffer, run_steps_view
from glowmcu.emit_c.streamed_input_view import streamed_input_view
from glowmcu.emit_c.tensor_views import tensor_views
from glowmcu.emit_c.texts import Texts
from glowmcu.emit_c.views import BufferView, BundleView, TensorView
from glowmcu.goals import Goal
from glowmcu.instrument import Instrument
from glowmcu.interface_options import Weights
from glowmcu.ir.graph import Node
from glowmcu.ir.program import Program
from glowmcu.ir.run_progress import RunProgress
from glowmcu.manifest import (
    FILE_NAME,
    Manifest,
    with_files,
)
from glowmcu.test_vectors import FLOAT_TOLERANCE, PATTERN_EXPRESSIONS

_OPTIONS_WIDTH = 80
#: File of the bundle to the template that makes it.
_TEMPLATES = {
    "{name}.h": "bundle.h.j2",
    "{name}.c": "bundle.c.j2",
    "{name}_weights.h": "weights.h.j2",
    "{name}_weights.c": "weights.c.j2",
    "{name}_model.h": "model.h.j2",
    "{name}_model.c": "model.c.j2",
    "selftest/{name}_selftest.h": "selftest.h.j2",
    "selftest/{name}_selftest.c": "selftest.c.j2",
}


def bundle_files(
    program: Program, chosen: Mapping[Node, Chosen], facts: BundleFacts
) -> tuple[Texts, Manifest]:
    """File name to content, and the manifest (which is one of the files)."""
    return listed(*unlisted_files(program, chosen, facts))


def unlisted_files(
    program: Program, chosen: Mapping[Node, Chosen], facts: BundleFacts
) -> tuple[Texts, Manifest]:
    """File name to content, and a manifest for whoever adds to these files: see `listed`."""
    check_bundle_name(facts.name)
    if not program.runs:
        facts = replace(facts, instrument=Instrument.OFF)  # there is nothing to observe
    places = facts.placed.places if facts.placed else None
    in_parts = facts.progress is not None
    body = layers(
        program, chosen, facts.name, facts.instrument, places, in_parts, facts.weights, facts.sized
    )
    view = _bundle_view(program, body, facts)
    if facts.weights is Weights.POINTER:
        view = replace(view, blob=bundle_blob(view, body))
    view = replace(view, costs=_costs(program, chosen, body, facts, view))
    name = facts.name
    outlines = {
        output.format(name=name): render(f"bundle/{template}", m=view)
        for output, template in {
            **_TEMPLATES,
            **_placement_templates(view),
            **_accelerator_templates(view),
        }.items()
    }
    used = (f"{view.model_struct}.h", *_public_headers(view), *body.headers)
    if view.delegates is not None:
        used = (*used, *view.delegates.stand_in_headers)
    if any(check.kind == CRC for check in view.output_checks):
        used = (*used, "glowmcu_check.h")
    if facts.instrument is not Instrument.OFF:
        used = (*used, "glowmcu_profile.h")
    # What operators of the user's mean, even of those that became tables or constants.
    used = (*used, *custom_headers(facts.options.get("custom", "")))
    outlines.update({file: stamped(file, text) for file, text in libjit_closure(used).items()})
    headers = tuple(sorted(file for file in outlines if file.endswith(".h") and "/" not in file))
    calls = library_calls(outlines[f"{name}.c"], [outlines[file] for file in headers])
    outlines["README.md"] = render("bundle/README.md.j2", m=view, library=calls)
    files = with_digests(Texts(outlines, body.arrays))
    packages = package_files(PackageView(view, facts.packaging, headers))
    assert not packages.keys() & files.keys(), "a package replaces a file of the bundle"
    manifest = replace(
        bundle_manifest(program, chosen, body, facts, files), costs=cost_entry(view.costs)
    )
    more = {}
    if view.blob is not None:
        more[f"{name}_weights.hex"] = view.blob.intel_hex
    code = {file: text for file, text in files.outlines.items() if file != f"{name}_weights.c"}
    more |= packages
    more[RECORD_FILE] = _misra_record(name, {**code, **more})
    more["selftest/golden.json"] = golden_json(facts.vectors, facts.exact_outputs)
    return files.joined(more), manifest


def listed(files: Texts, manifest: Manifest, model_license: str = "") -> tuple[Texts, Manifest]:
    """A bundle's files as they stay, with what is told of them: frames of functions that are
    assembly, terms, and a manifest that lists them all.
    """
    name = manifest.name
    if frames := naked_frames(files.outlines):
        files = files.joined({f"{name}_assembly.su": frames})
    files = files.joined(terms(files, name, model_license))
    full = with_files(manifest, files.digests)
    return files.joined({FILE_NAME: full.to_json()}), full


def _placement_templates(view: BundleView) -> dict[str, str]:
    """The files that put a bundle into regions, if it is put into any."""
    if view.placement is None:
        return {}
    found = {"placement/{name}.ld": "placement/fragment.ld.j2"}
    if view.placement.copied:
        found["placement/{name}_load.h"] = "placement/load.h.j2"
        found["placement/{name}_load.c"] = "placement/load.c.j2"
    return found


def _accelerator_templates(view: BundleView) -> dict[str, str]:
    """The files about the functions of an accelerator, if it computes anything."""
    found = view.delegates
    if found is None:
        return {}
    if found.is_ethos_u:
        return {"accelerator/ethos_u_driver.c": "accelerator/ethos_u_driver.c.j2"}
    return {
        f"{{name}}_{found.prefix}.h": "accelerator/hooks.h.j2",
        f"accelerator/{found.prefix}_hooks.c": "accelerator/hooks.c.j2",
    }


def _misra_record(name: str, code: Mapping[str, str]) -> str:
    """The deviations that the C among the files needs; weights are numbers."""
    deviations, disapplied = table(places(DEVIATIONS, code)), disapplied_table(DISAPPLIED)
    return render("bundle/MISRA.md.j2", name=name, deviations=deviations, disapplied=disapplied)


def _bundle_view(program: Program, body: Layers, facts: BundleFacts) -> BundleView:
    inputs, outputs = _tensors(program, facts)
    checks = _output_checks(program, facts)
    view = BundleView(
        name=facts.name,
        prefix=facts.name.upper(),
        tool_version=facts.tool_version,
        compiler=COMPILER_MARK,
        digest=BUNDLE_MARK, base_checks=(), kernel_checks=(),
        model_file=comment_text(facts.model_file),
        model_sha256=facts.model_sha256,
        options=_option_lines(facts.options),
        board=comment_text(facts.board),
        arena_bytes=facts.arena_bytes, arena_align=facts.arena_align,
        arena_lower_bound_bytes=facts.arena_lower_bound_bytes,
        weights_bytes=body.constant_bytes,
        macs=sum(run.node.macs for run in program.runs),
        extra_macs=facts.extra_macs,
        rounding=facts.rounding,
        is_instrumented=facts.instrument is not Instrument.OFF,
        shows_tensors=facts.instrument is Instrument.TENSORS,
        for_size=Goal(facts.options.get("optimize", Goal.BALANCED.value)).optimizes_size,
        inputs=inputs,
        outputs=outputs,
        buffers=_arena_map(program, facts.progress),
        arrays=body.arrays,
        functions=body.functions,
        steps=body.steps,
        header_groups=body.header_groups,
        last_code_switch=body.last_code_switch,
        vectors=tuple(
            vector_view(vector, index, facts.exact_outputs)
            for index, vector in enumerate(facts.vectors)
        ),
        pattern_types=_pattern_types(program),
        float_tolerance=c_number(FLOAT_TOLERANCE),
        output_checks=checks,
        check_functions=tuple(dict.fromkeys(checks)),
        packages=package_rows(facts.packaging.names, facts.name),
        integrity=body.integrity,
        has_assembly=has_naked(_code(body)),
        push=streamed_input_view(inputs, body.steps, facts.name, facts.model_sha256),
        run_steps=_run_steps(body, facts),
        stream=body.stream,
        stages=stages_view(program, body.steps, facts.pipeline),
        learning=learning_view(program, body, inputs, outputs, facts.training),
        size=size_view(facts.sized, facts.name.upper()),
        labels=tuple(map(c_literal, facts.labels)),
        categories=category_views(facts.categories, f"{facts.name}_category_"),
        cores=1 if program.meetings is None else 2, line_bytes=program.line_bytes,
        delegates=with_estimate(body.delegates, facts.delegation),
        placement=placement_view(facts.name, facts.placed, body.arrays, body.code_regions),
    )  # fmt: skip
    public = libjit_closure(_public_headers(view))
    return replace(
        view,
        base_checks=header_checks(public),
        kernel_checks=header_checks(libjit_closure(body.headers), public),
        model_checks=header_checks(libjit_closure((f"{view.model_struct}.h",)), public),
    )


def _tensors(
    program: Program, facts: BundleFacts
) -> tuple[tuple[TensorView, ...], tuple[TensorView, ...]]:
    inputs, outputs = tensor_views(program, facts.name, facts.asked)
    return (
        with_lengths(inputs, facts.sized, "inputs"),
        with_lengths(outputs, facts.sized, "outputs"),
    )


def _output_checks(program: Program, facts: BundleFacts) -> tuple[CheckView, ...]:
    """The same for all vectors: what is stored of an output depends on sizes alone."""
    outputs = [buffer.type for buffer in program.outputs]
    expected = (
        facts.vectors[0].expected(facts.exact_outputs)
        if facts.vectors
        else [np.zeros(0, item.element.numpy) for item in outputs]
    )
    return output_checks(program, facts.exact_outputs, facts.rounded_outputs, expected)


def _costs(
    program: Program,
    chosen: Mapping[Node, Chosen],
    body: Layers,
    facts: BundleFacts,
    view: BundleView,
) -> CostsView:
    name = facts.name
    names = {"run": view.entry, "infer": f"{name}_infer"}
    if view.push is not None:
        names = {"push": view.push.function, "begin": f"{name}_start", **names}
        del names["run"]
    if view.run_steps is not None:
        names |= {"begin": f"{name}_begin", "steps": view.steps_entry}
    if view.cores > 1:
        names["help"] = f"{name}_help"
    if view.stages is not None:
        names["push"] = f"{name}_push"
    if view.stream is not None:
        names["reset"] = f"{name}_reset"
    if view.learning is not None:
        entries = ("learn", "train", "parameters_save", "parameters_load")
        names |= {entry: f"{name}_{entry}" for entry in entries}
    if view.blob is not None:
        names["set_weights"] = f"{name}_set_weights"
    names |= {"check": f"{name}_check", "selftest": f"{name}_selftest"}
    return costs_view(facts.costs, names, program, chosen, body, facts.instrument, view.for_size)


def _code(body: Layers) -> Iterator[str]:
    """All that computes: functions of layers, and libjit's."""
    yield from (function.text for function in body.functions)
    yield from (step.definition for step in body.steps)
    yield from libjit_closure(tuple(body.headers)).values()


def _arena_map(program: Program, progress: RunProgress | None) -> tuple[BufferView, ...]:
    views = buffer_views(program)
    if progress is not None:
        views = (*views, progress_buffer(progress, len(program.runs)))
    return tuple(sorted(views, key=lambda view: (view.offset, view.first)))


def _run_steps(body: Layers, facts: BundleFacts) -> RunStepsView | None:
    if facts.progress is None:
        return None
    return run_steps_view(body.steps, facts.name, facts.model_sha256)


def _public_headers(view: BundleView) -> tuple[str, ...]:
    """The libjit headers that the bundle's own header includes."""
    converts = ("glowmcu_quantize.h",) if view.converts else ()
    observed = ("glowmcu_observer.h",) if view.is_instrumented else ()
    return ("glowmcu_base.h", *converts, *observed)


def _option_lines(options: Mapping[str, str]) -> tuple[str, ...]:
    """All options as comments of a line or more; none is cut off but a very long one."""
    lines = [""]
    for key, value in options.items():
        item = comment_text(f"{key}={value}")
        if lines[-1] and len(lines[-1]) + 1 + len(item) > _OPTIONS_WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {item}".strip()
    return tuple(lines)


def _pattern_types(program: Program) -> tuple[tuple[str, str, str], ...]:
    """The fill functions that the inputs need, each once."""
    elements = sorted({buffer.type.element for buffer in program.inputs}, key=lambda e: e.value)
    return tuple(
        (f"fill_{item.value}", item.c_name, PATTERN_EXPRESSIONS[str(item.numpy)])
        for item in elements
    )

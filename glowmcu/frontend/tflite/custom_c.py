"""Custom operators whose meaning is C of the user's, by their custom code."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.custom_c import CustomFile
from glowmcu.frontend.custom_c import custom_operation
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.flexbuffer import read_numbers
from glowmcu.frontend.tflite.importer import Import, ImportFunction

_PREFIX = "CUSTOM "


def importers_with(
    custom: Mapping[str, CustomFile], importers: Mapping[str, ImportFunction]
) -> dict[str, ImportFunction]:
    """All importers, those of the user's operators among them. A name may also be that of a builtin
    operator which has no importer.
    """
    builtin = {kind: _import_custom for kind in custom if kind not in importers}
    return {**importers, **builtin, **{f"{_PREFIX}{kind}": _import_custom for kind in custom}}


def _import_custom(state: Import, op: OperatorRecord) -> None:
    kind = op.name.removeprefix(_PREFIX)
    source = state.custom[kind]
    # Options that are no map of numbers are nothing that C could be given.
    given = read_numbers(op.custom_options) if source.attributes else {}
    operation = custom_operation(kind, source, given, len(op.outputs))
    state.emit(op, operation, [state.value(op, position) for position in range(len(op.inputs))])

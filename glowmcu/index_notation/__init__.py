"""Operators by definition: a function of Python in index notation, which is read and never run."""

from glowmcu.index_notation.definition import Definition, read_definition
from glowmcu.index_notation.spaces import Plan, Space, plan_of
from glowmcu.index_notation.statements import DefinitionError, Reduction, Statement

__all__ = [
    "Definition",
    "DefinitionError",
    "Plan",
    "Reduction",
    "Space",
    "Statement",
    "plan_of",
    "read_definition",
]

"""Kernels and memory together: which scratch and which streaming an arena has room for."""

from glowmcu.memory_fit.board_fit import fit_on_board, quickest_on_board
from glowmcu.memory_fit.coded_weights import pack_weights
from glowmcu.memory_fit.dense_parts import in_dense_parts
from glowmcu.memory_fit.fit_in_steps import fit_in_steps
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.fitter import RAM_SLOWDOWN, fit_memory, memory_curve
from glowmcu.memory_fit.least_flash import FlashSaver
from glowmcu.memory_fit.partner import Partner
from glowmcu.memory_fit.staging import FlashWaits, stage_weights

__all__ = [
    "RAM_SLOWDOWN",
    "FittedPlan",
    "FlashSaver",
    "FlashWaits",
    "Partner",
    "fit_in_steps",
    "fit_memory",
    "fit_on_board",
    "in_dense_parts",
    "memory_curve",
    "pack_weights",
    "quickest_on_board",
    "stage_weights",
]

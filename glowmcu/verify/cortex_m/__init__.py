"""The modelled Cortex-M: Unicorn executes, tables from Arm's manuals say what it would cost."""

from glowmcu.verify.cortex_m.executor import CortexM, DetailedMeasurement

__all__ = ["CortexM", "DetailedMeasurement"]

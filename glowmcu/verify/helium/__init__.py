"""The modelled cores with Helium: QEMU executes, a table of measured costs says how long."""

from glowmcu.verify.helium.executor import HeliumCore

__all__ = ["HeliumCore"]

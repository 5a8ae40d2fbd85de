"""This computer by the Tiny C Compiler, for tests of what C computes: in a tenth of gcc's time.

It looks neither for warnings nor for undefined behaviour, and does what the C says. So gcc compiles
a third of the models, with all warnings, and always the same ones: their content decides.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Array, Measurement
from tests.support.one_unit import QUICK_LINK

#: The Tiny C Compiler, which the set-up installs.
TCC = "tcc"
_TCC_FLAGS = ("-DGLOWMCU_ALIGNED(bytes)=__attribute__((aligned(bytes)))",)
#: One model in so many is compiled by gcc.
_GCC_SHARE = 3


class QuickHost(Host):
    """As `Host`, compiled by tcc."""

    def __init__(self, pieces: Sequence[int] = ()) -> None:
        super().__init__(_TCC_FLAGS, pieces)

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """As `Host.run`."""
        with mock.patch.dict(os.environ, CC=TCC):
            return super().run(bundle_dir, inputs)


def host_for(model: bytes) -> Host:
    """gcc for one model in three, and where there is no tcc; tcc for the others."""
    if zlib.crc32(model) % _GCC_SHARE == 0 or shutil.which(TCC) is None:
        return Host(("-O1", *QUICK_LINK))
    return QuickHost()

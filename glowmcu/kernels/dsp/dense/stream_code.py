"""What kernels of dense streams share: names for their templates, members of their structs.

See stream.py for the stream, layer.py for the layers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.kernels.dsp.dense.stream import SECTION, DenseStream
from glowmcu.kernels.kernel import ConstantArray, Field
from glowmcu.kernels.requantization.forms import Form

_COMMENT = "for blocks and forms see glowmcu_dense_stream.h"
_NIBBLES_COMMENT = "see glowmcu_dense_nibbles.h and glowmcu_dense_stream.h"


def stream_view(stream: DenseStream) -> dict[str, object]:
    """How sums become int8, as templates read it."""
    return {
        "form": stream.form.kind.value,
        "postshift": stream.form.postshift,
        "wide": 2 if stream.layout.sections else int(stream.layout.wide),
        "nibbles": stream.layout.nibbles,
        "section": SECTION,
        "uniform": stream.layout.uniform,
    }


def pairs_headers(stream: DenseStream) -> tuple[str, ...]:
    """What functions for pairs of pixels need beside glowmcu_pointwise_pairs.h."""
    return ("glowmcu_pointwise_nibbles.h",) if stream.layout.nibbles else ()


def stream_field(
    stream: DenseStream, is_single: int = 0, behind: Sequence[DenseStream] = ()
) -> Field:
    """The constants in the order of their use, see `DenseStream.words`; `behind` are those of a
    layer's other groups.
    """
    comment = _NIBBLES_COMMENT if stream.layout.nibbles else _COMMENT
    words = np.concatenate([each.words(is_single) for each in (stream, *behind)])
    return Field("stream", ConstantArray("stream", words, comment))


def scale_fields(stream: DenseStream) -> tuple[Field, ...]:
    """What all channels share if they have one scale, else zeros."""
    multiplier, step, shift = stream.shared_constants if stream.layout.uniform else (0, 0, 0)
    return Field("multiplier", multiplier), Field("step", step), Field("shift", shift)


def clamp_fields(form: Form) -> tuple[Field, ...]:
    """The range of a fused activation; least above most if there is none."""
    if form.clamp is None:
        return Field("clamp_min", 1, "above clamp_max, no clamp"), Field("clamp_max", 0)
    return Field("clamp_min", form.clamp[0]), Field("clamp_max", form.clamp[1])

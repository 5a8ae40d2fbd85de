"""What an application hands over and gets, if it is not what the file says: types, layouts,
frames of a camera and windows that slide.
"""

from __future__ import annotations

from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.lowering.camera_frames import camera_notes, with_cameras
from glowmcu.lowering.model_border import border_notes, with_border
from glowmcu.lowering.slide_windows import with_slides


def as_application_sees(
    graph: Graph, inputs: InputOptions, file_name: str
) -> tuple[Graph, tuple[str, ...]]:
    """The graph with the inputs and outputs of the bundle, and what to tell of them.

    Raises GM120, GM130 and GM153 for options that do not fit the model.
    """
    bordered = with_border(graph, inputs, file_name)
    framed = with_cameras(bordered, inputs.cameras, file_name)
    slid, notes = with_slides(framed, inputs.slides, file_name, inputs.slide_layers)
    return slid, (*border_notes(bordered, inputs), *camera_notes(bordered, inputs.cameras), *notes)

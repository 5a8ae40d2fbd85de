"""A model on windows that overlap computes what is new in each: `--slide INPUT=HOP`.

Every run the newest HOP rows come, and results are those of the whole window of the newest N rows.
A row of a layer that reads nothing but inner rows of its operand, no padding and no row that does,
is what it was a run before, only further down: such rows are kept as states. Rows that see the
window's edges are computed again, and so is what needs all rows. All of it is slices,
concatenations and states of the graph; equality with a run on the whole window follows row by row.

A stream begins with a window of zeros (zero points), and states with what the model makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.interpreter import bind_inputs, step_graph
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.passes import PASSES
from glowmcu.lowering.window_input import window_input
from glowmcu.lowering.window_rows import WINDOWED, Inner, of_rows, window_of, with_rows
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.slides import Slide

#: Where the graph says of how many layers rows are kept.
KEPT_LAYERS = "layers that keep rows"
#: Passes up to this one bring a model into the form whose rows are plain: paddings are attributes.
_PREPARED_BY = "fold_padding"


@dataclass(frozen=True)
class Slid:
    """The graph that takes new rows only; `macs` are those of a run on a whole window.

    `axis` of the input has the rows. `whole_from` names the first layer that is computed in full,
    and why. Rows of `layers` that look at windows are kept.
    """

    graph: Graph
    macs: int
    axis: int
    whole_from: str = ""
    layers: int = 0


def with_slides(
    graph: Graph, slides: Mapping[str, Slide], file_name: str, most_layers: int | None = None
) -> tuple[Graph, tuple[str, ...]]:
    """The graph whose inputs slide by `slides`, and what that saves, in sentences. Rows of the
    first `most_layers` are kept, if that is given.

    Raises GM130 for more than one input, and if it cannot be.
    """
    if not slides:
        return graph, ()
    if len(slides) > 1:
        raise error(
            "GM130",
            f"one input can slide, not {len(slides)}: {', '.join(map(repr, slides))}",
            file_name,
            "the others are written as a whole",
            ExitCode.USAGE,
        )
    ((name, given),) = slides.items()
    slid = slide(graph, name, given, file_name, most_layers)
    part = 100 * slid.graph.macs / max(slid.macs, 1)
    text = (
        f"input {name!r} slides by {given.rows} rows, along axis {slid.axis}: a run computes "
        f"{slid.graph.macs} of {slid.macs} multiply-accumulates ({part:.0f} %)"
    )
    whole = f"; in full from {slid.whole_from}" if slid.whole_from else ""
    metadata = {**slid.graph.metadata, KEPT_LAYERS: str(slid.layers)}
    return replace(slid.graph, metadata=metadata), (text + whole,)


def slide(
    graph: Graph,
    name: str,
    given: Slide,
    file_name: str,
    most_layers: int | None = None,
) -> Slid:
    """The model with new rows of input `name` a run. Raises GM130 if that cannot be."""
    refused = partial(_cannot, name, file_name)
    names = [value.name for value in graph.arguments]
    if name not in names:
        raise error(
            "GM130",
            f"no input is named {name!r}",
            file_name,
            f"the inputs are: {', '.join(names)}",
            ExitCode.USAGE,
        )
    if graph.states:
        raise refused(
            "the model has states of its own",
            "it sees each row once already; --slide is for models without states",
        )
    for title, run in PASSES:
        graph = run(graph)
        if title == _PREPARED_BY:
            break
    value = graph.arguments[names.index(name)]
    window = window_input(graph, value, given.axis)
    if window is None:
        axis = "" if given.axis is None else f", axis {given.axis} neither as height nor as width"
        raise refused(
            f"layers read it as {value.type}{axis}",
            "rows are those of one image; sound slides by the hop of a pipeline's first stage, "
            "its features as the second's input (docs/pipelines.md)",
        )
    if not given.rows < window.rows:
        raise refused(
            f"{given.rows} new rows of {window.rows}", f"give a hop from 1 to {window.rows - 1}"
        )
    slider = _Slider(*window.network(graph), given.rows, most_layers)
    slid, rows = slider.run()
    new, nodes = window.in_front_of(rows, name)
    inputs = (new if value is rows else value for value in slid.inputs)
    slid = replace(slid, inputs=tuple(inputs), nodes=(*nodes, *slid.nodes))
    slid.verify()
    slid = remove_dead_nodes(slid)  # rows that nobody reads
    return Slid(slid, graph.macs, window.axes[0], slider.whole_from, slider.layers)


def _cannot(name: str, file_name: str, why: str, hint: str) -> GlowmcuError:
    message = f"input {name!r} cannot slide: {why}"
    return error("GM130", message, file_name, hint, ExitCode.UNSUPPORTED)


class _Slider:
    """A network whose input `image` [1, rows, columns, channels] gets `hop` new rows a run."""

    def __init__(self, graph: Graph, image: Value, hop: int, most_layers: int | None) -> None:
        self.graph, self.image, self.hop = graph, image, hop
        self.most_layers, self.layers = most_layers, 0
        self.nodes: list[Node] = []
        self.states: list[State] = []
        self.assigned: list[Value] = []
        self.inner: dict[Value, Inner] = {image: Inner(0, image.type.shape[1], hop)}
        self.whole_from = ""
        for node in graph.nodes:
            self._look_at(node)
        for node in reversed(graph.nodes):
            self._give_up(node)
        self.begin = self._of_zeros()
        #: By tensor its rows above the inner ones, and all others: those kept and the new ones.
        self.parts: dict[Value, tuple[Value | None, Value]] = {}

    def run(self) -> tuple[Graph, Value]:
        """The graph node by node, and its input of new rows."""
        shape = with_rows(self.image, self.hop)
        new = Value(self.image.type.with_shape(shape), self.image.name)
        self._keep(self.image, None, new)
        for node in self.graph.nodes:
            self._add(node)
        arguments = tuple(new if v is self.image else v for v in self.graph.arguments)
        slid = replace(
            self.graph,
            inputs=(*arguments, *(state.value for state in self.states)),
            nodes=tuple(self.nodes),
            outputs=(*self.graph.results, *self.assigned),
            states=tuple(self.states),
        )
        return slid, new

    def _of_zeros(self) -> dict[Value, Array]:
        """What every tensor is where all inputs are zeros."""
        inputs = [
            np.full(
                value.type.shape,
                value.type.zero_point if value.type.quantization is not None else 0,
                value.type.element.numpy,
            )
            for value in self.graph.inputs
        ]
        values = bind_inputs(self.graph, inputs)
        with np.errstate(all="ignore"):
            for _ in step_graph(self.graph, values):
                pass
        return values

    def _look_at(self, node: Node) -> None:
        """Note the inner rows of what a node makes, if there are any."""
        inner = self._inner(node)
        if inner is not None and inner.end > inner.first and self._may_keep(node):
            self.inner[node.output] = inner
            self.layers += isinstance(node.op, WINDOWED)
        elif not self.whole_from and self._reads_all_rows(node):
            self.whole_from = self._why(node, inner)

    def _reads_all_rows(self, node: Node) -> bool:
        return any(value in self.inner for value in node.inputs) and not self._takes_rows(node)

    def _may_keep(self, node: Node) -> bool:
        """Whether one more layer that looks at windows may keep rows."""
        if self.most_layers is None or not isinstance(node.op, WINDOWED):
            return True
        return self.layers < self.most_layers

    def _give_up(self, node: Node) -> None:
        """What keeps no row and is read as a whole is computed in one piece."""
        for value in node.outputs:
            inner = self.inner.get(value)
            if inner is not None and not inner.kept and self._is_read_whole(value):
                del self.inner[value]

    def _add(self, node: Node) -> None:
        result = node.outputs[0]
        if self._takes_rows(node):
            assert isinstance(node.op, Slice)
            first = node.op.begin[1]
            rows = self._cut(node.inputs[0], first, first + node.op.size[1])
            same = Reshape(result.type.shape)
            self.nodes.append(Node(same, (rows,), (result,), node.name, node.source))
            return
        if result not in self.inner:
            self.nodes.append(node)
            return
        inner, height = self.inner[result], result.type.shape[1]
        above = self._piece(node, 0, inner.first) if inner.first else None
        self._keep(result, above, self._piece(node, inner.first_new, height))

    def _keep(self, value: Value, above: Value | None, new: Value) -> None:
        """The rows of a tensor: `above`, those of the run before, `new`.

        What was at rows first + step to end is at first to end - step now. Where somebody reads the
        whole tensor it is in one piece, else what others read of it is the piece without `above`.
        """
        inner, rows = self.inner[value], value.type.shape[1]
        pieces = [new]
        if inner.kept:
            shape = with_rows(value, inner.kept)
            kept = Value(value.type.with_shape(shape), f"{value.name}/kept")
            before = self.begin[value][:, inner.first + inner.step : inner.end]
            self.states.append(State(kept, before.copy()))
            pieces.insert(0, kept)
        if above is None or self._is_read_whole(value):
            pieces = [*([above] if above else []), *pieces]
            self.nodes.append(Node(Concatenation(1), tuple(pieces), (value,), value.name, "slide"))
        else:
            shape = with_rows(value, rows - inner.first)
            name = f"{value.name}/window"
            joined = self._node(Concatenation(1), pieces, name, shape, value)
            self.parts[value] = above, joined
        if inner.kept:
            self.assigned.append(self._cut(value, inner.first + inner.step, inner.end))

    def _is_read_whole(self, value: Value) -> bool:
        users = self.graph.users.get(value, [])
        return value in self.graph.outputs or any(
            user.outputs[0] not in self.inner and not self._takes_rows(user) for user in users
        )

    def _takes_rows(self, node: Node) -> bool:
        """Whether it is a slice of some rows of a tensor that moves up, and all of each."""
        if not isinstance(node.op, Slice) or node.inputs[0] not in self.inner:
            return False
        shape, op = node.inputs[0].type.shape, node.op
        whole = all(op.size[axis] == shape[axis] for axis in (0, 2, 3))
        return whole and set(op.step) == {1}

    def _inner(self, node: Node) -> Inner | None:
        """The inner rows of a node's result; None if rows do not follow from rows."""
        images = self._images(node)
        if not images or len(node.outputs) != 1 or any(v not in self.inner for v in images):
            return None
        known = [self.inner[value] for value in images]
        if len({inner.step for inner in known}) != 1:
            return None
        first, end = max(i.first for i in known), min(i.end for i in known)
        step = known[0].step
        if not isinstance(node.op, WINDOWED):
            return Inner(first, end, step)
        stride, top, extent = window_of(node)
        if step % stride:
            return None
        return Inner(
            -(-(first + top) // stride), (end + top - extent) // stride + 1, step // stride
        )

    def _images(self, node: Node) -> list[Value]:
        """Operands with rows, where rows of the result follow from them; else none."""
        constants = [value for value in node.inputs if self._is_constant(value)]
        images = [value for value in node.inputs if not self._is_constant(value)]
        out = node.output.type if len(node.outputs) == 1 else None
        if out is None or any(v.type.rank != 4 or v.type.shape[0] != 1 for v in images):
            return []
        if isinstance(node.op, WINDOWED):
            return images[:1] if len(images) == 1 and images[0] is node.inputs[0] else []
        if isinstance(node.op, Concatenation):
            return images if node.op.axis > 1 and not constants else []
        rows = out.shape[1] if out.rank == 4 else 0
        same = all(value.type.shape[1] == rows for value in images)
        flat = all(v.type.rank < 3 or v.type.shape[-3] == 1 for v in constants)
        return images if node.op.elementwise and same and flat else []

    def _is_constant(self, value: Value) -> bool:
        return self.graph.constant_data(value) is not None

    def _piece(self, node: Node, first: int, end: int) -> Value:
        """Rows of the node's result, computed from those under them."""
        op, wanted = of_rows(node, first, end)
        images = self._images(node)
        inputs = [self._cut(v, *wanted) if v in images else v for v in node.inputs]
        shape = with_rows(node.output, end - first)
        name = f"{node.output.name}/rows{first}"
        result = Value(node.output.type.with_shape(shape), name)
        self.nodes.append(Node(op, tuple(inputs), (result,), name, node.source))
        return result

    def _cut(self, value: Value, first: int, end: int) -> Value:
        """Rows of a tensor, from the piece or the two that they are in."""
        if value in self.parts:
            above, window = self.parts[value]
            assert above is not None
            start = above.type.shape[1]
            if first >= start:
                return self._cut(window, first - start, end - start)
            if end <= start:
                return self._cut(above, first, end)
            both = [self._cut(above, first, start), self._cut(window, 0, end - start)]
            shape = with_rows(value, end - first)
            return self._node(Concatenation(1), both, f"{value.name}/{first}", shape, value)
        shape = value.type.shape
        if (first, end) == (0, shape[1]):
            return value
        size = with_rows(value, end - first)
        op = Slice((0, first, 0, 0), size, (1, 1, 1, 1))
        return self._node(op, [value], f"{value.name}/{first}", size, value)

    def _node(
        self, op: Operation, inputs: Sequence[Value], name: str, shape: tuple[int, ...], like: Value
    ) -> Value:
        result = Value(like.type.with_shape(shape), name)
        self.nodes.append(Node(op, tuple(inputs), (result,), name, "slide"))
        return result

    def _why(self, node: Node, inner: Inner | None) -> str:
        said = f'{node.op.name} "{node.name}"'
        if not self._may_keep(node):
            return f"{said}, so that the rows of layers before it are all that is kept"
        steps = {self.inner[v].step for v in node.inputs if v in self.inner}
        stride = window_of(node)[0] if isinstance(node.op, Conv2D | DepthwiseConv2D) else 1
        if any(step % stride for step in steps):
            return f"{said}, whose stride does not divide {min(steps)} new rows"
        return f"{said}, of which no row stays" if inner else f"{said}, which needs all rows"

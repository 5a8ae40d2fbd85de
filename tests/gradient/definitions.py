"""Definitions in index notation whose gradients are compared with finite differences."""

from __future__ import annotations

from glowmcu.ir.types import Shape
from glowmcu.ops.defined import Defined, DefinedFunction

#: Each with the shapes of its operands; those that are int32 begin with "at".
DEFINITIONS: dict[str, tuple[str, tuple[Shape, ...]]] = {
    "a product with a limit": (
        """
def f(x: "float32[B, I]", w: "float32[O, I]", limit: float = 0.1) -> "y: float32[B, O]":
    y[b, o] += w[o, i] * x[b, i]
    y[b, o] = min(y[b, o], limit)
""",
        ((3, 4), (5, 4)),
    ),
    "products, of which one goes on": (
        """
def f(x: "float32[B, C]", w: "float32[C, D]") -> "y: float32[B]":
    y[b] *= x[b, c] + w[c, d]
    y[b] = y[b] + x[b, 0]
    y[b] *= w[c, 0] * x[b, c] + 1.0
""",
        ((2, 3), (3, 2)),
    ),
    "a product of as many turns": (
        """
def f(x: "float32[N]") -> "y: float32[N]":
    for m in range(3):
        y[n] *= x[n]
""",
        ((4,),),
    ),
    "softmax by temporaries, and a result that is not asked for": (
        """
def f(x: "float32[B, C]") -> "y: float32[B, C], top: float32[B]":
    top[b] = max(x[b, k])
    e[b, c] = exp(x[b, c] - top[b])
    total[b] += e[b, k]
    y[b, c] = e[b, c] / total[b]
    top[b] = top[b] * top[b]
""",
        ((3, 4),),
    ),
    "windows, in strides and at edges": (
        """
def f(x: "float32[T, C]", w: "float32[K, C]", more: int = 3) -> "y: float32[T - K + 1, C]":
    for t in range(T - K + 1):
        y[t, c] += x[t + k, c] * w[k, c]
    for d in range(more):
        y[t, c] += x[clip(t + d - 1, 0, T - 1), c] * x[T - 1 - t, c]
    for d in range(2):
        y[t, c] += x[min(2 * t + d, T - 1), 0] * w[K - 1 - d, c]
""",
        ((6, 2), (3, 2)),
    ),
    "sums over indices that parts of them lack": (
        """
def f(x: "float32[B]", w: "float32[N]") -> "y: float32[B]":
    y[b] += x[b] * 0.5 + w[n]
    for turn in range(2):
        y[b] += x[b] * y[b]
""",
        ((3,), (4,)),
    ),
    "reads of less than an axis": (
        """
def f(x: "float32[N]") -> "y: float32[3]":
    y[i] = x[i] * x[N - 3 + i] + x[2]
    y[i] = y[i] - x[i] * y[i]
""",
        ((5,),),
    ),
    "a diagonal, and powers": (
        """
def f(x: "float32[N, N]") -> "y: float32[N]":
    y[i] = x[i, i] * float(i) + 2 - x[i, 1] / (x[1, i] * x[1, i] + 1.0)
    y[i] += -x[i, j] * y[i]
""",
        ((4, 4),),
    ),
    "functions": (
        """
def f(x: "float32[A, B]", z: "float32[A, B]") -> "y: float32[A, B]":
    y[a, b] = tanh(x[a, b]) * sin(z[a, b]) + sigmoid(z[a, b] - x[a, b])
    u[a, b] = log(abs(y[a, b]) + 1.5) + floor(x[a, b])
    v[a, b] = sqrt(u[a, b] + cos(x[a, b]) + 3.0)
    y[a, b] = exp(v[a, b] * 0.3) + u[a, b]
""",
        ((2, 3), (2, 3)),
    ),
    "choices": (
        """
def f(x: "float32[A]", low: "float32[A]", high: "float32[A]") -> "y: float32[A]":
    y[a] = clip(x[a], low[a], high[a]) + max(x[a], low[a]) * min(x[a], high[a])
    y[a] = where(x[a] > 0.0 and low[a] < high[a], y[a] * x[a], y[a] - low[a])
    least[a] = min(y[k] + x[a])
    y[a] = y[a] * least[a]
""",
        ((7,), (7,), (7,)),
    ),
    "a gather": (
        """
def f(x: "float32[N, C]", at: "int32[M]") -> "y: float32[M, C]":
    y[m, c] = x[clip(at[m], 0, N - 1), c] * float(at[m])
    y[m, c] = y[m, c] * x[0, c]
""",
        ((4, 2), (6,)),
    ),
    "a number that all have": (
        """
def f(x: "float32[B, C]", b: "float32[1]") -> "y: float32[B]":
    y[n] += x[n, c] * b[0]
    y[n] = y[n] * (y[n] * b[0] + 1.0)
""",
        ((2, 3), (1,)),
    ),
}


def operation(text: str) -> Defined:
    """The operator of a definition, with the defaults of its attributes."""
    op = Defined("F", "f.py", text)
    return Defined("F", "f.py", text, tuple(op.source.definition.attributes.values()))


#: A function of one operand, element by element.
FUNCTION = DefinedFunction("F", "f.py", """
def f(x: "float32[B, C]", beta: float = 1.0) -> "y: float32[B, C]":
    y[b, c] = x[b, c] * sigmoid(beta * x[b, c])
""", (1.5,))  # fmt: skip

QUOTIENTS = """
def f(x: "float32[N]") -> "y: float32[N]":
    y[i] = x[i] * x[i // 2]
"""
#: Each statement needs the value before it, so that its gradient has more than twice as many.
MANY = (
    """
def f(x: "float32[N]") -> "y: float32[N]":
    y[i] = x[i] * x[i]
"""
    + 42 * "    y[i] = y[i] * x[i]\n"
)

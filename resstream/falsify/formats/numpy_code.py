"""A counterexample as code for NumPy: the instance and both sides in floats, to paste and run."""

from __future__ import annotations

from flint import fmpq

from resstream.falsify.formats.program import Language, Program
from resstream.falsify.formats.script import ARITHMETIC, assignments, instance, quoted
from resstream.falsify.formats.trace import Trace


def _float(value: fmpq) -> str:
    text = str(value.p) if value.q == 1 else f"{value.p} / {value.q}"
    return text if value.q == 1 and value >= 0 else f"({text})"


LANGUAGE = Language(
    _float,
    ARITHMETIC
    | {"pi": "np.pi", "erf": "math.erf({})"}
    | {name: f"np.{name}({{}})" for name in ("sqrt", "exp", "log", "cos", "sin", "tanh")},
    lambda name, index: f"{name}[{', '.join(map(str, index))}]",
)


def write(trace: Trace) -> str:
    """The code, as text."""
    program = Program.of(LANGUAGE, trace.arrays, trace.facts)
    lines = [f'"""{quoted(trace.id)} is false at this instance (in floats)."""', ""]
    lines += ["import math", "", "import numpy as np", ""]
    lines += instance(trace, program, lambda text: f"np.array({text}, dtype=float)")
    for fact in trace.violation:
        lines += ["", *assignments(program, fact.lhs, fact.rhs)]
        lines += [f"lhs = {program.name(fact.lhs)}", f"rhs = {program.name(fact.rhs)}"]
        lines.append(f'print(f"{{lhs = }}, {{rhs = }}, lhs {fact.symbol} rhs: {{lhs {fact.symbol} rhs}}")')
    return "\n".join(lines) + "\n"

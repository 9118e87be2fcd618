"""A counterexample as code for SymPy: the instance and both sides exactly, to paste and run."""

from __future__ import annotations

from flint import fmpq

from resstream.falsify.formats.program import Language, Program
from resstream.falsify.formats.script import ARITHMETIC, assignments, instance, quoted
from resstream.falsify.formats.trace import Trace


def _rational(value: fmpq) -> str:
    return f"sp.Rational({value.p}, {value.q})"


LANGUAGE = Language(
    _rational,
    ARITHMETIC
    | {"abs": "sp.Abs({})", "max": "sp.Max({}, {})", "pi": "sp.pi"}
    | {name: f"sp.{name}({{}})" for name in ("sqrt", "exp", "log", "cos", "sin", "tanh", "erf")},
    lambda name, index: f"{name}[{', '.join(map(str, index))}]",
)


def write(trace: Trace) -> str:
    """The code, as text."""
    program = Program.of(LANGUAGE, trace.arrays, trace.facts)
    lines = [f'"""{quoted(trace.id)} is false at this instance (exactly)."""', ""]
    lines += ["import sympy as sp", ""]
    lines += instance(trace, program, lambda text: f"sp.Array({text})")
    for fact in trace.violation:
        lines += ["", *assignments(program, fact.lhs, fact.rhs)]
        lines += [f"lhs = {program.name(fact.lhs)}", f"rhs = {program.name(fact.rhs)}"]
        lines.append("print(f'lhs = {lhs}, about {sp.N(lhs)}; rhs = {rhs}, about {sp.N(rhs)}')")
        lines.append(f"print('lhs {fact.symbol} rhs:', bool(sp.N(lhs - rhs, 30) {fact.symbol} 0))")
    return "\n".join(lines) + "\n"

"""A counterexample as a statement for Lean 4 with Mathlib, as text: it was never run, and says so."""

from __future__ import annotations

from flint import fmpq

from resstream.arithmetic.terms import NUMBER
from resstream.falsify.formats.program import Language, Program, in_order
from resstream.falsify.formats.trace import Fact, Trace

_HEAD = """\
import Mathlib

/-!
The claim {id} is false.

{statement}

This file states a counterexample to it. It was written by a program that has no Lean at hand: it has not been
checked. Rational values are left to `norm_num`.{open}
-/

noncomputable section

"""

_SYMBOLS = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "<": "<", ">": ">"}


def _number(value: fmpq) -> str:
    text = str(value.p) if value.q == 1 else f"{value.p} / {value.q}"
    return text if value.q == 1 and value >= 0 else f"({text})"


LANGUAGE = Language(
    _number,
    {
        "+": "({} + {})",
        "-": "({} - {})",
        "*": "({} * {})",
        "/": "({} / {})",
        "neg": "(-{})",
        "abs": "|{}|",
        "max": "(max {} {})",
        "pi": "Real.pi",
        **{name: f"(Real.{name} {{}})" for name in ("sqrt", "exp", "log", "cos", "sin", "tanh")},
    },
    lambda name, index: "_".join([name, *(str(place + 1) for place in index)]),
)


def write(trace: Trace) -> str:
    """The file, as text."""
    program = Program.of(LANGUAGE, trace.arrays, trace.facts)
    left = sum(not fact.exact for fact in trace.facts)
    note = f"\n{left} of {len(trace.facts)} facts need bounds of roots or exponentials: they are left as `sorry`."
    statement = _comment(trace.statement)
    lines = [_HEAD.format(id=trace.id, statement=statement, open=note if left else "").rstrip("\n"), ""]
    defined = []
    for name, text in trace.texts:
        lines.append(f"-- {name}: {' '.join(text.split())}")
    for _, value in trace.arrays:
        for entry in value.flat:
            if entry.operation == NUMBER:
                defined.append(program.names[id(entry)])
                lines.append(f"def {defined[-1]} : ℝ := {program.expression(entry)}")
    for node in program.due(*(side for fact in trace.facts for side in (fact.lhs, fact.rhs))):
        defined.append(program.names[id(node)])
        lines.append(f"def {defined[-1]} : ℝ := {program.expression(node)}")
    for place, fact in enumerate(trace.facts, 1):
        lines += ["", f"/-- {_comment(fact.about)} -/", f"theorem fact_{place} : {_statement(program, fact)} := by"]
        used = sorted(
            {program.names[id(node)] for node in in_order([fact.lhs, fact.rhs]) if id(node) in program.names},
            key=defined.index,
        )
        lines.append(f"  norm_num [{', '.join([*used, 'abs, max_def'])}]" if fact.exact else "  sorry")
    stated = " ∧\n    ".join(f"({_statement(program, fact)})" for fact in trace.facts)
    names = ", ".join(f"fact_{place}" for place in range(1, len(trace.facts) + 1))
    proof = f"⟨{names}⟩" if len(trace.facts) > 1 else names
    lines += [
        "",
        "theorem counterexample :",
        f"    {stated} :=",
        f"  ⟨{proof}⟩" if len(trace.facts) > 1 else f"  {proof}",
    ]
    return "\n".join([*lines, "", "end"]) + "\n"


def _comment(text: str) -> str:
    """Text that neither ends a comment nor begins one."""
    return text.replace("-/", "- /").replace("/-", "/ -")


def _statement(program: Program, fact: Fact) -> str:
    return f"{program.name(fact.lhs)} {_SYMBOLS[fact.symbol]} {program.name(fact.rhs)}"

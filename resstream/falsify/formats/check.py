"""A counterexample as one Python file that checks it by itself: fractions, and where need be intervals of mpmath.

The file shares no code with this package. It states the instance, the membership of its objects, the hypotheses, every
branch, divisor and radicand, evaluates both sides, and exits 0 only if all that holds and the conclusion fails.
"""

from __future__ import annotations

from pathlib import Path

from flint import fmpq

from resstream.falsify.formats.bounds import decimal_bounds
from resstream.falsify.formats.program import Language, Program
from resstream.falsify.formats.script import ARITHMETIC, assignments, instance, quoted
from resstream.falsify.formats.trace import Fact, Trace

_INTERVALS = Path(__file__).with_name("intervals.py.txt")
"""The few lines on intervals that a file with roots or exponentials begins with."""

_HEAD = '''\
"""The claim {id} is false.

{statement}

This file checks a counterexample to it{needs}. It shares no
code with the program that found the counterexample. Run it: it exits with 0 only if everything that it checks holds.
"""

import sys
from fractions import Fraction as Q
{more}
checked = 0


def require(what, holds):
    global checked
    checked += 1
    if holds is not True:
        print("not so:", what)
        sys.exit(1)


'''


def _fraction(value: fmpq) -> str:
    return f"Q({value.p})" if value.q == 1 else f"Q({value.p}, {value.q})"


def indexed(name: str, index: tuple[int, ...]) -> str:
    """An entry of nested lists."""
    return name + "".join(f"[{place}]" for place in index)


_FRACTIONS = Language(_fraction, ARITHMETIC, indexed)
_BALLS = Language(
    _fraction,
    {**ARITHMETIC, "max": "larger({}, {})", "pi": "pi"}
    | {f: f + "({})" for f in ("sqrt", "exp", "log", "cos", "sin", "tanh", "erf")},
    indexed,
)


def write(trace: Trace) -> str:
    """The file, as text."""
    program = Program.of(_FRACTIONS if trace.rational else _BALLS, trace.arrays, trace.facts)
    needs = " in fractions" if trace.rational else " in fractions and in intervals of mpmath"
    more = "" if trace.rational else _INTERVALS.read_text(encoding="utf-8")
    statement = quoted(trace.statement) or "(It has no statement in words.)"
    lines = list(instance(trace, program))
    for title, facts in (
        ("What the objects are", trace.domain),
        ("The hypotheses", trace.hypotheses),
        ("Branches, divisors and radicands", trace.conditions),
    ):
        if facts:
            lines += ["", f"# {title}"]
        for fact in facts:
            lines += [*assignments(program, fact.lhs, fact.rhs), _required(program, fact)]
    lines += ["", "# The conclusion, and that it fails"]
    for fact in trace.violation:
        lines += [*assignments(program, fact.lhs, fact.rhs), *_violated(program, fact)]
    head = _HEAD.format(id=trace.id, statement=statement, needs=needs, more=more)
    return head + "\n".join(lines) + f'\nprint(checked, "checks hold: {trace.id} is false")\n'


def _required(program: Program, fact: Fact) -> str:
    return f"require({fact.about!r}, {program.name(fact.lhs)} {fact.symbol} {program.name(fact.rhs)})"


def _violated(program: Program, fact: Fact) -> list[str]:
    lines = [f"lhs = {program.name(fact.lhs)}", f"rhs = {program.name(fact.rhs)}"]
    for name, node in (("lhs", fact.lhs), ("rhs", fact.rhs)):
        if node.exact is not None:
            lines.append(f'require("{name} is {node.exact}", {name} == {_fraction(node.exact)})')
        else:
            low, high = decimal_bounds(node.enclosure)
            lines.append(f'require("{name} lies in its stated bounds", {_fraction(low)} < {name} < {_fraction(high)})')
    return [*lines, f"require({f'{fact.about}: lhs {fact.symbol} rhs'!r}, lhs {fact.symbol} rhs)"]

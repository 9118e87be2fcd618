"""A counterexample as a file for Rocq (Coq), in which every step is a lemma that the kernel checks.

Rational values are settled by `lra` and `field` over the real numbers; roots, exponentials and the like by the tactic
`interval`, of coq-interval, over whole numbers (so that no axiom is needed but those of the real numbers). The last
theorem states it all: what the objects are, the hypotheses, the branches, and that the conclusion fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flint import arb, fmpq

from resstream.arithmetic.balls import precision
from resstream.arithmetic.terms import NUMBER, TermEntry, is_below
from resstream.errors import Undecided
from resstream.falsify.formats.bounds import dyadic
from resstream.falsify.formats.program import Language, Program, in_order
from resstream.falsify.formats.trace import Fact, Trace

PRECISIONS = (64, 128, 256, 512)
"""Bits of the enclosures, in the order tried."""

_ONE = """\
(** The claim {id} is false.

    {statement}

    This file proves a counterexample to it. Rename it to a name that Rocq takes (letters and digits, ending in .v) and
    check it with coqc; it needs {needs}. The last lines that are printed say
    what the proof rests on: the axioms of the real numbers. *)

"""

_PREAMBLE = """\
From Coq Require Import Reals Lra{more}.
{imports}Open Scope R_scope.

Ltac settle_branches := repeat match goal with
  | |- context [Rabs ?x] => first [rewrite (Rabs_pos_eq x) by lra | rewrite (Rabs_left1 x) by lra]
  | |- context [Rmax ?x ?y] => first [rewrite (Rmax_left x y) by lra | rewrite (Rmax_right x y) by lra]
  end.
Ltac settle := settle_branches; first [lra | field; repeat split; lra].
Lemma exact_sqrt : forall x r, 0 <= r -> x = r * r -> sqrt x = r.
Proof. intros x r Hr ->; now apply sqrt_square. Qed.
"""

_INTERVALS = """\
From Interval Require Float.Specific_stdz Float.Specific_ops.
From Interval Require Import Tactic.
Module Numbers := Float.Specific_ops.SpecificFloat Float.Specific_stdz.StdZRadix2.
Module Rigorous := IntervalTactic Numbers.
Import Rigorous.
"""

_POINTS = {
    "exp": "apply exp_0",
    "cos": "apply cos_0",
    "sin": "apply sin_0",
    "log": "apply ln_1",
    "tanh": "unfold tanh; rewrite sinh_0; lra",
}
SYMBOLS = {"==": "=", "!=": "<>"}


def number(value: fmpq) -> str:
    """A rational number as a term of type R."""
    text = str(value.p) if value.q == 1 else f"{value.p} / {value.q}"
    return text if value.q == 1 and value >= 0 else f"({text})"


LANGUAGE = Language(
    number,
    {
        "+": "({} + {})",
        "-": "({} - {})",
        "*": "({} * {})",
        "/": "({} / {})",
        "neg": "(- {})",
        "abs": "(Rabs {})",
        "max": "(Rmax {} {})",
        "log": "(ln {})",
        "pi": "PI",
        **{name: f"({name} {{}})" for name in ("sqrt", "exp", "cos", "sin", "tanh")},
    },
    lambda name, index: "_".join([name, *(str(place + 1) for place in index)]),
)


def write(trace: Trace) -> str:
    """The file of one counterexample, as text. Undecided where no precision that is tried separates the sides."""
    statement = _comment(trace.statement or "(It has no statement in words.)")
    needs = "nothing but Debian's package coq" if _is_plain(trace) else "Debian's packages coq and libcoq-interval"
    head = _ONE.format(id=trace.id, statement=statement, needs=needs)
    return head + _preamble([trace]) + _body(trace) + "\nPrint Assumptions counterexample.\n"


def write_book(traces: Sequence[Trace]) -> str:
    """Several counterexamples in one file, a module each, which loads the libraries once."""
    parts = [_preamble(traces)]
    names = []
    for place, trace in enumerate(traces, 1):
        names.append(f"Certificate_{place}")
        parts.append(f"\n(** {trace.id} *)\nModule {names[-1]}.\n{_body(trace)}End {names[-1]}.\n")
    proof = "I"
    for name in reversed(names):
        proof = f"(conj {name}.counterexample {proof})"
    return "".join(parts) + f"\nDefinition all_of_them := {proof}.\nPrint Assumptions all_of_them.\n"


def plain_preamble(*more: str) -> str:
    """What a file without intervals begins with: the real numbers, further modules, tactics for rational values."""
    return _PREAMBLE.format(imports="", more="".join(f" {module}" for module in more))


def _preamble(traces: Sequence[Trace]) -> str:
    return _PREAMBLE.format(imports="" if all(map(_is_plain, traces)) else _INTERVALS, more="")


def _is_plain(trace: Trace) -> bool:
    """Whether every number has a rational value, so that no interval is needed."""
    roots = [side for fact in trace.facts for side in (fact.lhs, fact.rhs)]
    return all(node.exact is not None for node in in_order(roots))


def _body(trace: Trace) -> str:
    for bits in PRECISIONS:
        try:
            return "".join(_Writer(trace, bits).lines())
        except Undecided as failure:
            reason = failure
    raise reason


class _Writer:
    """One file at one precision."""

    def __init__(self, trace: Trace, bits: int) -> None:
        self.trace, self.bits = trace, bits
        self.program = Program.of(LANGUAGE, trace.arrays, trace.facts, _named_in(trace))
        self.bounds: dict[int, tuple[fmpq, fmpq]] = {}
        self.leaves = {id(e) for _, value in trace.arrays for e in value.flat if e.operation == NUMBER}

    def lines(self) -> Iterator[str]:
        trace, program = self.trace, self.program
        sizes = ", ".join(f"{name} = {size}" for name, size in trace.sizes.items())
        yield f"\n(** The instance{', at ' + sizes if sizes else ''}. *)\n"
        for name, text in trace.texts:
            yield f"(** {_comment(f'{name}: {text}')} *)\n"
        for _, value in trace.arrays:
            for entry in value.flat:
                if id(entry) in self.leaves:
                    yield f"Definition {program.names[id(entry)]} : R := {program.expression(entry)}.\n"
        stated = []
        for place, fact in enumerate(trace.facts, 1):
            yield f"\n(** {_comment(fact.about)} *)\n"
            for node in program.due(fact.lhs, fact.rhs):
                yield from self.definition(node)
            written = self.statement(fact)
            stated.append((f"fact_{place}", written))
            yield f"Lemma fact_{place} : {written}.\nProof. {self.proof(fact)} Qed.\n"
        yield "\nTheorem counterexample :\n  " + " /\\\n  ".join(f"({written})" for _, written in stated) + ".\n"
        names = [name for name, _ in stated]
        proof = names[-1]
        for name in reversed(names[:-1]):
            proof = f"(conj {name} {proof})"
        yield f"Proof. exact {proof}. Qed.\n"

    # -- definitions

    def definition(self, node: TermEntry) -> Iterator[str]:
        """The definition of a named node, and the lemma that states its value or encloses it."""
        name = self.program.names[id(node)]
        yield f"Definition {name} : R := {self.program.expression(node)}.\n"
        if node.exact is not None:
            value = number(node.exact)
            yield f"Lemma value_{name} : {name} = {value}.\nProof. {self.evaluation(node)} Qed.\n"
            return
        low, high = self.bounds[id(node)] = outwards(self.enclose(node), self.bits - 16)
        yield f"Lemma bounds_{name} : {number(low)} <= {name} <= {number(high)}.\n"
        if node.operation == "max":
            yield f"Proof. {self.opened(node)} unfold Rmax; destruct Rle_dec; lra. Qed.\n"
        else:
            hyperbolic = any(part.operation == "tanh" for part in self.inline(node))
            unfolded = "unfold tanh, sinh, cosh; " if hyperbolic else ""
            yield f"Proof. {self.opened(node)} {unfolded}interval with (i_prec {self.bits + 32}). Qed.\n"

    def evaluation(self, node: TermEntry) -> str:
        """The proof that an exact node has its value."""
        opened = self.opened(node)
        if not _is_special(node):
            return f"{opened} settle."
        (operand, *_) = node.operands
        if node.operation == "sqrt":
            return f"{opened} apply exact_sqrt; settle."
        if node.operation == "*":  # of a root with itself
            root = self.program.names[id(operand)]
            inner = self.opened(operand, pose=False)
            return f"unfold {self.program.names[id(node)]}; {inner} rewrite sqrt_sqrt; settle.".replace(
                f"unfold {root};", f"unfold {root};"
            )
        if node.operation == "/":  # of a number by itself
            return f"{opened} field; lra."
        point = number(operand.exact if operand.exact is not None else fmpq(0))
        expression = self.program.language.operations[node.operation].format(point)
        return f"{opened} transitivity {expression}; [f_equal; settle | {_POINTS[node.operation]}]."

    def inline(self, node: TermEntry) -> list[TermEntry]:
        """The nodes of a node's own expression, named ones left out."""
        found, waiting = [], [node]
        while waiting:
            part = waiting.pop()
            found.append(part)
            waiting += [operand for operand in part.operands if id(operand) not in self.program.names]
        return found

    def uses(self, parts: Sequence[TermEntry]) -> list[TermEntry]:
        """The named nodes that some expressions are made of."""
        used = {
            id(operand): operand for part in parts for operand in part.operands if id(operand) in self.program.names
        }
        return list(used.values())

    def opened(self, node: TermEntry, pose: bool = True) -> str:
        """Tactics that unfold a named node down to named ones, and bring what is known of these."""
        return self.bring(self.uses(self.inline(node)), [self.program.names[id(node)]], pose)

    def bring(self, used: Sequence[TermEntry], unfolded: Sequence[str] = (), pose: bool = True) -> str:
        names = self.program.names
        unfolded = [*unfolded, *(names[id(part)] for part in used if id(part) in self.leaves)]
        inner = [part for part in used if id(part) not in self.leaves]
        values = [f"value_{names[id(part)]}" for part in inner if part.exact is not None]
        bounds = [f"pose proof bounds_{names[id(part)]};" for part in inner if part.exact is None and pose]
        text = " ".join(bounds)
        if unfolded:
            text += f" unfold {', '.join(unfolded)};"
        if values:
            text += f" rewrite {', '.join('?' + value for value in values)};"
        return text.strip()

    # -- enclosures

    def enclose(self, node: TermEntry) -> arb:
        """The ball that follows for a node from what was proved of named nodes."""
        with precision(self.bits):
            enclosure = _BALLS[node.operation](*(self._known(operand) for operand in node.operands))
        if not enclosure.is_finite():
            raise Undecided(f"an enclosure without bounds at {self.bits} bits")
        return enclosure

    def _known(self, node: TermEntry) -> arb:
        if node.exact is not None:
            return arb(node.exact)
        if id(node) not in self.bounds:
            return _BALLS[node.operation](*(self._known(operand) for operand in node.operands))
        low, high = self.bounds[id(node)]
        return arb(low).union(arb(high))

    # -- facts

    def statement(self, fact: Fact) -> str:
        symbol = SYMBOLS.get(fact.symbol, fact.symbol)
        return f"{self.program.name(fact.lhs)} {symbol} {self.program.name(fact.rhs)}"

    def proof(self, fact: Fact) -> str:
        """The proof of a fact, from what is known of the named nodes of its sides."""
        if fact.lhs is fact.rhs:
            return "lra."
        used = []
        for side in (fact.lhs, fact.rhs):
            used += [side] if id(side) in self.program.names else self.uses(self.inline(side))
        if not fact.exact:
            self.separate(fact)
        opened = self.bring(list({id(part): part for part in used}.values()))
        if fact.symbol != "!=":
            return f"{opened} settle."
        apart = "Rlt_not_eq" if is_below(fact.lhs, fact.rhs) else "Rgt_not_eq"
        return f"{opened} apply {apart}; settle_branches; lra."

    def separate(self, fact: Fact) -> None:
        """Undecided where the bounds that were proved do not settle a fact."""
        (low, high), (other_low, other_high) = (self._range(side) for side in (fact.forward.lhs, fact.forward.rhs))
        certain = high <= other_low if fact.forward.symbol == "<=" else high < other_low
        if not certain and not (fact.symbol == "!=" and other_high < low):
            raise Undecided(f"{fact.about}: not settled at {self.bits} bits")

    def _range(self, side: TermEntry) -> tuple[fmpq, fmpq]:
        return self.bounds[id(side)] if side.exact is None else (side.exact, side.exact)


def _named_in(trace: Trace) -> Callable[[TermEntry], bool]:
    """Which nodes get a name whatever their use: where what is rational meets what is not, maxima of what is not (which
    `interval` does not know) and their operands, and the sides of facts that bounds must settle.
    """
    roots = [side for fact in trace.facts for side in (fact.lhs, fact.rhs)]
    roots += [entry for _, value in trace.arrays for entry in value.flat]
    chosen = {id(side) for fact in trace.facts if not fact.exact for side in (fact.lhs, fact.rhs)}
    for node in in_order(roots):
        if node.exact is None:
            chosen |= {id(operand) for operand in node.operands if operand.exact is not None or node.operation == "max"}
            if node.operation == "max":
                chosen.add(id(node))
        elif _is_special(node):
            chosen.add(id(node))
    return lambda node: id(node) in chosen


_BALLS: dict[str, Callable[..., arb]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "neg": lambda a: -a,
    "abs": abs,
    "max": lambda a, b: a.max(b),
    "pi": arb.pi,
    "sqrt": lambda a: a.nonnegative_part().sqrt(),
    "exp": lambda a: a.exp(),
    "log": lambda a: a.log(),
    "cos": lambda a: a.cos(),
    "sin": lambda a: a.sin(),
    "tanh": lambda a: a.tanh(),
}


def _is_special(node: TermEntry) -> bool:
    """Whether a node is rational for a reason that `lra` and `field` do not know."""
    if node.exact is None or node.rational:
        return False
    if node.operation in ("*", "/"):
        return node.operands[0] is node.operands[1] and node.operands[0].exact is None
    return node.operation == "sqrt" or node.operation in _POINTS


def outwards(value: arb, bits: int) -> tuple[fmpq, fmpq]:
    """Dyadic bounds of a ball, with some room: three radii, and two units in a place `bits` below its first.

    Nothing is finer than 2^-bits: the lower bound of what is positive and tiny is 0.
    """
    middle, radius = dyadic(value.mid()), dyadic(value.rad())
    size = abs(middle) + radius
    exponent = bits - max(int(size.p).bit_length() - int(size.q).bit_length(), 0) if size else bits
    unit = fmpq(2) ** exponent
    low, high = (middle - 3 * radius) * unit, (middle + 3 * radius) * unit
    low, high = fmpq(low.p // low.q - 2) / unit, fmpq(high.p // high.q + 3) / unit
    return (fmpq(0) if low < 0 < value else low), high


def _comment(text: str) -> str:
    """Text that a comment can hold."""
    plain = text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")
    return "\n".join("    " + line if place else line for place, line in enumerate(plain.splitlines()))

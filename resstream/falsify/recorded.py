"""A counterexample as data: its terms, written beside it and judged again without the code of its claim.

The claim of somebody else's file, pack or notebook is code, which a reader may not have, or not want to run. What its
code asked for at the instance are the terms (`formats.trace`): a list of operations on earlier entries over rational
numbers, and facts that compare them. They are read here as data: an allow-list of operations, limits of length and
size, nothing called by name. That the terms are those of the claim is the word of whoever wrote the file, and is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import RATIONAL, Array, Ball, BallEntry, NoValue, NumberSystem, RationalEntry, to_fmpq
from resstream.arithmetic.entries import Entry
from resstream.arithmetic.terms import NUMBER, TermEntry, Terms, leaf, number
from resstream.claim import Claim, Instance
from resstream.errors import ArithmeticLimit, ClaimError
from resstream.falsify.counterexample import Counterexample, Exhibit
from resstream.falsify.formats.program import in_order
from resstream.falsify.formats.trace import BITS, Fact, Trace, identifier
from resstream.falsify.judge import HOLDS, OUTSIDE, UNDECIDED, VIOLATED, Judgement
from resstream.relations import NEGATED, every

if TYPE_CHECKING:
    from resstream.falsify.variants import Origin

MOST_NODES, MOST_FACTS, MOST_BITS = 50_000, 5_000, 1_000_000
"""Operations and facts of a record, and bits of its rational numbers, the larger ones counted together."""

CONFIRMED = 4 * BITS
"""Bits of the second reading."""

_OPERATIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "+": (2, lambda a, b: a.plus(b)),
    "-": (2, lambda a, b: a.minus(b)),
    "*": (2, lambda a, b: a.times(b)),
    "/": (2, lambda a, b: a.over(b)),
    "neg": (1, lambda a: a.negative()),
    "abs": (1, lambda a: a.size()),
    "max": (2, lambda a, b: a.larger(b)),
    "sqrt": (1, lambda a: a.square_root()),
    "exp": (1, lambda a: a.exponential()),
    "log": (1, lambda a: a.logarithm()),
    "cos": (1, lambda a: a.cosine()),
    "sin": (1, lambda a: a.sine()),
    "tanh": (1, lambda a: a.hyperbolic_tangent()),
    "erf": (1, lambda a: a.error_function()),
}
"""How many entries each takes, and what it is of them; `pi` takes none."""

_GROUPS = ("domain", "hypotheses", "conditions", "violation")
_NUMBER = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
_LARGEST = arb(2) ** MOST_BITS


# ---- writing ----------------------------------------------------------------


def record(found: Counterexample, origin: Origin | None) -> dict[str, Any] | None:
    """The terms of a counterexample, or {"missing": why there are none}; None where the package has the claim."""
    if origin is not None and origin.file is None and origin.distribution is None:
        return None
    try:
        written = _written(found.trace())
        _Reader(written).trace(BITS)  # what cannot be read is not written
    except (ArithmeticLimit, ClaimError) as failure:
        return {"missing": str(failure)[:300]}
    return written


def _written(trace: Trace) -> dict[str, Any]:
    entries = [entry for _, value in trace.arrays for entry in value.flat]
    order = in_order([*entries, *(side for fact in trace.facts for side in (fact.lhs, fact.rhs))])
    place = {id(node): k for k, node in enumerate(order)}
    return {
        "id": trace.id,
        "statement": "".join(c if c.isprintable() or c == "\n" else " " for c in trace.statement),
        "sizes": dict(trace.sizes),
        "objects": [
            {"name": name, "shape": list(value.shape), "entries": [place[id(entry)] for entry in value.flat]}
            if isinstance(value, np.ndarray)
            else {"name": name, "text": " ".join(value.split())}
            for name, value in trace.objects
        ],
        "nodes": [
            str(node.exact)
            if node.operation == NUMBER
            else [node.operation, *(place[id(operand)] for operand in node.operands)]
            for node in order
        ],
        **{
            group: [[fact.about, place[id(fact.lhs)], fact.symbol, place[id(fact.rhs)]] for fact in facts]
            for group, facts in zip(
                _GROUPS, (trace.domain, trace.hypotheses, trace.conditions, trace.violation), strict=True
            )
        },
    }


# ---- reading ----------------------------------------------------------------


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ClaimError(f"terms: expected {what}")


def _line(value: Any, what: str, longest: int = 1000) -> str:
    _require(isinstance(value, str) and len(value) <= longest and value.isprintable(), f"{what}, a line of text")
    return str(value)


class _Reader:
    """The data of a record, checked as it is read."""

    def __init__(self, data: Any) -> None:
        expected = {"id", "statement", "sizes", "objects", "nodes", *_GROUPS}
        _require(isinstance(data, dict) and set(data) == expected, f"an object with {', '.join(sorted(expected))}")
        lists = [data[name] for name in ("objects", "nodes", *_GROUPS)]
        _require(all(isinstance(one, list) for one in lists), "lists of objects, nodes and facts")
        _require(len(data["nodes"]) <= MOST_NODES, f"at most {MOST_NODES:,} nodes")
        _require(sum(map(len, lists[2:])) + len(data["objects"]) <= MOST_FACTS, f"at most {MOST_FACTS:,} facts")
        _require(bool(data["violation"]), "a fact that contradicts the conclusion")
        _require(bool(re.fullmatch(r"[\w.+-]{1,200}", _line(data["id"], "an id"))), "the claim's id")
        words = data["statement"]
        _require(
            isinstance(words, str) and len(words) <= 20_000 and words.replace("\n", "").isprintable(),
            "a statement in words",
        )
        self.data: dict[str, Any] = data
        self.sizes = self._sizes()
        self.labels: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.shapes: list[tuple[str, tuple[int, ...] | str, list[int]]] = [self._object(one) for one in data["objects"]]
        self.facts = {group: [self._fact(one) for one in data[group]] for group in _GROUPS}

    def _sizes(self) -> dict[str, int]:
        sizes = self.data["sizes"]
        good = isinstance(sizes, dict) and all(
            name.isidentifier() and len(name) <= 100 and type(value) is int and 0 <= value < 10**6
            for name, value in sizes.items()
        )
        _require(good, "whole sizes by name")
        return dict(sizes)

    def _index(self, value: Any, below: int) -> int:
        _require(type(value) is int and 0 <= value < below, f"the number of a node before {below}")
        return int(value)

    def _object(self, one: Any) -> tuple[str, tuple[int, ...] | str, list[int]]:
        _require(isinstance(one, dict), "objects with a name")
        name = _line(one.get("name"), "the name of an object", 200)
        if set(one) == {"name", "text"}:
            return name, _line(one["text"], f"the text of {name}", 20_000), []
        _require(set(one) == {"name", "shape", "entries"}, f"{name} to have a shape and entries, or text")
        _require(name.isidentifier() and identifier(name) == name, f"a name that any language takes, got {name[:40]!r}")
        shape, entries = one["shape"], one["entries"]
        _require(
            isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and 0 <= n <= 10**6 for n in shape),
            f"the shape of {name}",
        )
        _require(isinstance(entries, list) and len(entries) == math.prod(shape), f"{name} to have entries of its shape")
        found = [self._index(entry, len(self.data["nodes"])) for entry in entries]
        for entry, index in zip(found, np.ndindex(*shape), strict=True):
            self.labels.setdefault(entry, (name, index))
        return name, tuple(shape), found

    def _fact(self, one: Any) -> tuple[str, int, str, int]:
        _require(isinstance(one, list) and len(one) == 4, "facts as [about, node, symbol, node]")
        about, lhs, symbol, rhs = one
        _require(isinstance(symbol, str) and symbol in NEGATED, f"a comparison among {' '.join(NEGATED)}")
        count = len(self.data["nodes"])
        return _line(about, "what a fact is about"), self._index(lhs, count), symbol, self._index(rhs, count)

    def _nodes(self, start: Entry, named: bool = False) -> list[Any]:
        """Every node in the number system of an entry; named: the entries of objects as leaves of their names."""
        nodes: list[Any] = []
        bits = 0
        for place, node in enumerate(self.data["nodes"]):
            if isinstance(node, str):
                good = _NUMBER.fullmatch(node) and not re.search(r"/0+$", node)
                _require(bool(good), f"node {place} to be a rational number")
                value = to_fmpq(node)
                result: Any = leaf(value, self.labels[place]) if named and place in self.labels else start.of(value)
            else:
                _require(isinstance(node, list) and bool(node) and isinstance(node[0], str), f"node {place} to be one")
                if node == ["pi"]:
                    result = start.pi()
                else:
                    _require(node[0] in _OPERATIONS, f"node {place} to be one of {' '.join(_OPERATIONS)} pi")
                    count, operation = _OPERATIONS[node[0]]
                    _require(len(node) == count + 1, f"node {place} ({node[0]}) to have {count} operands")
                    result = operation(*(nodes[self._index(operand, place)] for operand in node[1:]))
            if isinstance(result, NoValue):
                raise ClaimError(f"terms: node {place} has no value ({result})")
            size = _bits(result)
            bits += size if size > 64 else 0
            _require(bits <= MOST_BITS, f"numbers of moderate size, up to node {place}")
            nodes.append(result)
        return nodes

    def trace(self, bits: int) -> Trace:
        """The terms, made anew with enclosures of some precision."""
        with Terms(bits).working():
            nodes = self._nodes(number(fmpq(0)), named=True)
        objects: list[tuple[str, Array | str]] = []
        for place, label in self.labels.items():
            if nodes[place].label is None:
                nodes[place].label = label
        for name, shape, entries in self.shapes:
            if isinstance(shape, str):
                objects.append((name, shape))
                continue
            value = np.empty(len(entries), dtype=object)
            value[:] = [nodes[entry] for entry in entries]
            objects.append((name, value.reshape(shape)))
        groups = [
            tuple(Fact(about, nodes[lhs], symbol, nodes[rhs]) for about, lhs, symbol, rhs in self.facts[group])
            for group in _GROUPS
        ]
        return Trace(self.data["id"], self.data["statement"], self.sizes, tuple(objects), *groups)

    def doubt(self) -> str:
        """What a second reading, in balls or rationals alone, has against the first; "" where it agrees."""
        readings: tuple[tuple[Entry, NumberSystem], ...] = (
            (BallEntry(arb(0)), Ball(CONFIRMED)),
            (RationalEntry(fmpq(0)), RATIONAL),
        )
        for zero, system in readings:
            with system.working():
                try:
                    nodes = self._nodes(zero)
                except (ArithmeticLimit, ClaimError):
                    continue
                answers = {
                    group: [_holds(nodes[lhs], symbol, nodes[rhs]) for _, lhs, symbol, rhs in self.facts[group]]
                    for group in _GROUPS
                }
            if any(answer is False for group in answers.values() for answer in group):
                return "two readings contradict each other"
            if all(answers["violation"]):
                return ""
        return "a second reading did not confirm the violation"


def _bits(entry: Any) -> int:
    """How long the exact value of an entry is; more than any limit where its enclosure is out of all proportion."""
    exact = entry.exact if isinstance(entry, TermEntry) else entry.value
    if isinstance(exact, fmpq):
        return int(exact.p.bit_length()) + int(exact.q.bit_length())
    size = abs(entry.enclosure if isinstance(entry, TermEntry) else entry.value)
    return MOST_BITS + 1 if not size < _LARGEST or (size > 0 and not size > 1 / _LARGEST) else 0


def _holds(lhs: Any, symbol: str, rhs: Any) -> bool | None:
    """Whether a comparison of entries is true; None where they cannot tell."""
    if symbol in ("==", "!="):
        same = lhs.same(rhs)
        return same if same is None or symbol == "==" else not same
    if symbol in (">", ">="):
        lhs, rhs, symbol = rhs, lhs, symbol.replace(">", "<")
    if symbol == "<":
        return lhs.below(rhs)
    beyond = rhs.below(lhs)
    return None if beyond is None else not beyond


# ---- judging ----------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Recorded(Exhibit):
    """An instance judged from its recorded terms, without the code of its claim. `data` is the whole counterexample.

    judgement: violated where every fact is certain in terms and none is contradicted in balls of another precision;
    else outside, holds or undecided, for the fact that its reason names.
    """

    terms: Trace | None = None
    data: Mapping[str, Any] | None = None

    def trace(self) -> Trace:
        """The terms."""
        assert self.terms is not None, "made by `judged`"
        return self.terms

    @property
    def title(self) -> str:
        """The first line of the text."""
        return f"{self.claim.id} fails, by its recorded terms"

    def values(self) -> dict[str, Any]:
        """The objects as recorded, by name: exact rationals where they are, balls elsewhere."""
        return {
            name: value
            if isinstance(value, str)
            else np.vectorize(_settled, otypes=[object])(value)
            if value.size
            else value
            for name, value in self.trace().objects
        }

    def _shown_relation(self) -> str:
        return NEGATED[self.judgement.kind]

    def _sides(self) -> list[str]:
        judged, count = self.judgement, len(self.trace().facts)
        certain = "exactly" if judged.bits is None else f"certified at {judged.bits} bits"
        return [
            *super()._sides(),
            f"lhs {judged.kind} rhs fails: lhs {NEGATED[judged.kind]} rhs {certain}",
            f"{count:,} recorded fact{'s hold' if count > 1 else ' holds'}",
            self.rests_on,
        ]

    @property
    def rests_on(self) -> str:
        """What the judgement is worth, in a sentence."""
        return (
            "judged from the recorded terms; the claim's own code was not run: that these are its terms is the word of "
            "the file"
        )

    def _repr_html_(self) -> str:
        from html import escape

        from resstream.cards import block
        from resstream.falsify.formats.html import exhibit_body

        head = f"<p><b>{escape(self.title)}</b></p><p>{escape(self.claim.statement)}</p>"
        return block(f"{head}{exhibit_body(self)}<p>{escape(self.rests_on)}.</p>")

    def json(self) -> dict[str, Any]:
        """The data that it was judged from."""
        return dict(self.data or {})

    def snippet(self) -> str:
        """Python code with the exact values."""
        return self._values_snippet()

    def pytest_file(self) -> str:
        """Refused with ClaimError: a test of this package's judgement runs the claim's code, which is not here."""
        raise ClaimError(
            f"claim {self.claim.id} was judged from its recorded terms, so no file can name its code: `--as check` is "
            "a file that checks it by itself"
        )


def _settled(entry: TermEntry) -> Any:
    return BallEntry(entry.enclosure) if entry.exact is None else RationalEntry(entry.exact)


def judged(data: Mapping[str, Any]) -> Recorded:
    """The instance of a counterexample's data, judged from its recorded terms alone.

    Raises ClaimError where there are none, or they are not such as this package writes.
    """
    terms = data.get("terms")
    if not isinstance(terms, dict) or "missing" in terms:
        why = str(terms["missing"])[:300] if isinstance(terms, dict) else "it was written without"
        raise ClaimError(f"no recorded terms to judge by: {why if why.isprintable() else 'they are missing'}")
    reader = _Reader(terms)
    identifier = data.get("claim")
    if reader.data["id"] not in (identifier, f"{identifier}+modified"):
        raise ClaimError("terms: expected the id of the claim that the counterexample names")
    trace = reader.trace(BITS)
    claim = Claim(trace.id, {}, lambda: every(), statement=trace.statement)
    seed = data["seed"] if type(data.get("seed")) is int else 0
    engine = str(data.get("engine", ""))
    raw = Instance(trace.sizes, {}, {})
    return Recorded(claim, raw, _judgement(trace, reader), seed, engine, trace, dict(data))


def _judgement(trace: Trace, reader: _Reader) -> Judgement:
    failing = trace.violation[-1]
    exact = failing.exact
    lhs, rhs = (_settled(side) for side in (failing.lhs, failing.rhs))
    a, b = (float(side.enclosure.mid()) for side in (failing.lhs, failing.rhs))
    margin = -abs(a - b) / (abs(a) + abs(b)) if a or b else 0.0
    beside = tuple((fact.about, _settled(fact.lhs), fact.symbol, _settled(fact.rhs)) for fact in trace.violation[:-1])
    outcome, reason = VIOLATED, ""
    for fact in trace.facts:
        holds = fact.holds()
        if holds:
            continue
        among = any(fact is one for one in trace.violation)
        outcome = UNDECIDED if holds is None else HOLDS if among else OUTSIDE
        reason = f"{fact.about}: {'not certain' if holds is None else 'not so'}"
        break
    else:
        reason = reader.doubt()
        outcome = UNDECIDED if reason else VIOLATED
    bits = None if exact else BITS
    return Judgement(outcome, bits, lhs, NEGATED[failing.symbol], rhs, margin, reason, beside=beside)


def require_same(recorded: Recorded, found: Counterexample) -> None:
    """ClaimError where the claim's code has other sides at the instance than the record."""
    try:
        traced = found.trace()
    except ArithmeticLimit:
        return  # the code cannot be put in terms here, so there is nothing to compare
    mine, theirs = (
        [side for fact in one.violation for side in (fact.lhs, fact.rhs)] for one in (recorded.trace(), traced)
    )
    same = len(mine) == len(theirs) and all(
        a.enclosure.overlaps(b.enclosure) for a, b in zip(mine, theirs, strict=True)
    )
    if not same:
        raise ClaimError(
            f"the recorded terms are not those of the claim's code: {mine} in the record, {theirs} by the code"
        )


__all__ = ["Recorded", "judged", "record", "require_same"]

"""Terms as straight-line programs: which subterms get a name, in which order, and how expressions are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from flint import fmpq

from resstream.arithmetic import Array
from resstream.arithmetic.terms import NUMBER, VARIABLE, TermEntry
from resstream.errors import NotExpressible
from resstream.falsify.formats.trace import Fact

SIZE = 40
"""How many operations an expression has before a part of it gets a name."""


def in_order(roots: Sequence[TermEntry]) -> list[TermEntry]:
    """All nodes below the roots, each after its operands, each once."""
    done: set[int] = set()
    order: list[TermEntry] = []
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        node, ready = waiting.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
        else:
            waiting.append((node, True))
            waiting += [(operand, False) for operand in reversed(node.operands)]
    return order


def worth_a_name(
    roots: Sequence[TermEntry], always: Callable[[TermEntry], bool] = lambda _: False
) -> Iterator[TermEntry]:
    """The nodes that are worth a name, in order: those used twice or more, those that `always` names, and parts of
    expressions of more than `SIZE` operations. Numbers have none of their own.
    """
    order = in_order(roots)
    uses = Counter(id(operand) for node in order for operand in node.operands)
    weights: dict[int, int] = {}
    for node in order:
        weight = (
            0 if node.operation in (NUMBER, VARIABLE) else 1 + sum(weights[id(operand)] for operand in node.operands)
        )
        if weight and (uses[id(node)] > 1 or always(node) or weight >= SIZE):
            yield node
            weight = 0
        weights[id(node)] = weight


@dataclass(frozen=True)
class Language:
    """How expressions are written: rational numbers, a template for every operation, and how an entry is called."""

    number: Callable[[fmpq], str]
    operations: Mapping[str, str]
    entry: Callable[[str, tuple[int, ...]], str]


@dataclass
class Program:
    """The terms of a trace in some language: names, and the definitions that are still to be written."""

    language: Language
    names: dict[int, str] = field(default_factory=dict)
    waiting: dict[int, TermEntry] = field(default_factory=dict)
    """Named nodes whose definition was not written yet."""

    @classmethod
    def of(
        cls,
        language: Language,
        arrays: Sequence[tuple[str, Array]],
        facts: Sequence[Fact],
        always: Callable[[TermEntry], bool] = lambda _: False,
    ) -> Program:
        """The program of some facts about the entries of some arrays, which are called as the arrays are; other steps
        are t1, t2, ...
        """
        program = cls(language)
        entries = [entry for _, value in arrays for entry in value.flat]
        for entry in entries:
            if entry.operation in (NUMBER, VARIABLE) and entry.label is not None:
                program.names[id(entry)] = language.entry(*entry.label)
        roots = [side for fact in facts for side in (fact.lhs, fact.rhs)]
        for node in worth_a_name([*roots, *entries], lambda node: always(node) or node.label is not None):
            program.names[id(node)] = f"t{len(program.waiting) + 1}"
            program.waiting[id(node)] = node
        return program

    def due(self, *nodes: TermEntry) -> Iterator[TermEntry]:
        """The named nodes below some nodes (these included) that were not asked for before, in order."""
        for node in in_order(nodes):
            if self.waiting.pop(id(node), None) is not None:
                yield node

    def expression(self, node: TermEntry, top: bool = True) -> str:
        """How a node is computed from named ones."""
        if node.operation == NUMBER:
            return self.language.number(_exact(node))
        if node.operation not in self.language.operations:
            raise NotExpressible(f"{node.operation}: there is no such function in this form")
        operands = [self.name(operand, top=False) for operand in node.operands]
        text = self.language.operations[node.operation].format(*operands)
        return text[1:-1] if top and text.startswith("(") and _encloses(text) else text

    def name(self, node: TermEntry, top: bool = True) -> str:
        """A node's name where it has one, else how it is computed."""
        return self.names[id(node)] if id(node) in self.names else self.expression(node, top)

    def nested(self, value: Array, left: str = "[", right: str = "]") -> str:
        """An array as nested lists of its entries, by name where they are no numbers."""

        def written(part: Array | TermEntry) -> str:
            if isinstance(part, np.ndarray):
                return left + ", ".join(written(inner) for inner in part) + right
            return self.language.number(_exact(part)) if part.operation == NUMBER else self.name(part)

        return written(value)


def _exact(node: TermEntry) -> fmpq:
    assert node.exact is not None, "a number has an exact value"
    return node.exact


def _encloses(text: str) -> bool:
    """Whether the first parenthesis is closed by the last one."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(text) - 1
    return False

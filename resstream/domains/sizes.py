"""The sizes at which a claim's domains have members, and relations between sizes such as n >= d + 1."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resstream.domains.base import Domain
from resstream.errors import DomainError

TRIED = 12
"""Sizes of a range that are looked at from its low end; of a longer one, as many again from its high end."""


@dataclass(frozen=True)
class Where:
    """A relation between sizes, as text: "n >= d + 1", "2 <= h and d == 2 * h".

    Comparisons of whole numbers, of size names and of their sums, differences, products, whole quotients (//) and
    remainders (%), joined by `and`, `or`, `not`. DomainError for anything else.
    """

    text: str

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, AttributeError):  # no relation, or no text
            raise DomainError(f"where={self.text!r:.60}: expected a relation of sizes such as 'n >= d + 1'") from None
        for node in ast.walk(tree):
            if not isinstance(node, _OF_SIZES) or (isinstance(node, ast.Constant) and type(node.value) is not int):
                raise DomainError(
                    f"where={self.text!r:.60}: {ast.unparse(node)!r:.30} is no part of a relation of sizes"
                )
        if not isinstance(tree, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            raise DomainError(f"where={self.text!r:.60}: expected a comparison of sizes such as 'n >= d + 1'")
        object.__setattr__(self, "_tree", tree)

    @property
    def names(self) -> set[str]:
        """The sizes that it speaks of."""
        return {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}  # type: ignore[attr-defined]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds of these sizes; where something is divided by zero, it does not."""
        try:
            return bool(_value(self._tree, sizes))  # type: ignore[attr-defined]
        except ZeroDivisionError:
            return False


_OPERATIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

_OF_SIZES = (
    *_OPERATIONS,
    *(ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Name, ast.Constant),
    ast.Load,
)


def _value(node: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, sizes)
        return not inner if isinstance(node.op, ast.Not) else -inner
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_value(node.left, sizes), _value(node.right, sizes))
    if isinstance(node, ast.BoolOp):
        parts = (_value(part, sizes) for part in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    sides = [_value(side, sizes) for side in (node.left, *node.comparators)]
    pairs = zip(node.ops, itertools.pairwise(sides), strict=True)
    return all(_OPERATIONS[type(symbol)](left, right) for symbol, (left, right) in pairs)


def choices(ranges: Mapping[str, range], where: Where | None) -> Iterator[dict[str, int]]:
    """The sizes of some ranges that a relation allows: by their sum, then in order."""
    found = (dict(zip(ranges, values, strict=True)) for values in _by_sum(ranges))
    return (sizes for sizes in found if where is None or where.holds(sizes))


def _by_sum(ranges: Mapping[str, range]) -> Iterator[tuple[int, ...]]:
    ordered = [sorted(values) for values in ranges.values()]
    least, most = sum(values[0] for values in ordered), sum(values[-1] for values in ordered)
    for target in range(least, most + 1):
        yield from _of_sum(ordered, target)


def _of_sum(ordered: list[list[int]], target: int) -> Iterator[tuple[int, ...]]:
    if not ordered:
        if target == 0:
            yield ()
        return
    least = sum(values[0] for values in ordered[1:])
    most = sum(values[-1] for values in ordered[1:])
    for value in ordered[0]:
        if least <= target - value <= most:
            yield from ((value, *rest) for rest in _of_sum(ordered[1:], target - value))


def inhabited(
    over: Mapping[str, Domain], ranges: Mapping[str, range], where: Where | None = None
) -> tuple[dict[str, range], tuple[str, ...]]:
    """The ranges without the sizes at which some domain has no member, and a note on each that was left out.

    DomainError where nothing is left of a range, where sizes in its midst drop out, or where it takes two sizes
    together to leave a domain empty, so that no range can say it and `where` does not.
    """
    notes = []
    left = {name: list(values) for name, values in ranges.items()}
    for domain in over.values():
        names = sorted(domain.size_names())
        tried = {name: _few(left[name]) for name in names}
        asked = where if where is not None and where.names <= set(names) else None
        allowed = [
            sizes
            for sizes in itertools.product(*tried.values())
            if asked is None or asked.holds(dict(zip(names, sizes, strict=True)))
        ]
        empty = {
            sizes: reason for sizes in allowed if (reason := domain.excluded(dict(zip(names, sizes, strict=True))))
        }
        for place, name in enumerate(names):
            for value in tried[name]:
                alike = [sizes for sizes in allowed if sizes[place] == value]
                if alike and all(sizes in empty for sizes in alike):
                    left[name].remove(value)
                    notes.append(f"{name} = {value} is left out: {domain} has no members there ({empty[alike[0]]})")
        if names and not all(left[name] for name in names):
            raise DomainError(f"{domain} has no members at any of its sizes ({next(iter(empty.values()))})")
        for sizes, reason in empty.items():
            if all(value in left[name] for name, value in zip(names, sizes, strict=True)):
                at = ", ".join(f"{name} = {value}" for name, value in zip(names, sizes, strict=True))
                raise DomainError(
                    f"{domain} has no members at {at} ({reason}): expected ranges of sizes without such a pair"
                )
    return {name: _range(name, left[name]) for name in ranges}, tuple(dict.fromkeys(notes))


def _few(values: list[int]) -> list[int]:
    """Those that are looked at, as a list of its own."""
    return list(values) if len(values) <= 2 * TRIED else [*values[:TRIED], *values[-TRIED:]]


def _range(name: str, values: list[int]) -> range:
    """A range of those values."""
    step = values[1] - values[0] if len(values) > 1 else 1
    found = range(values[0], values[-1] + (1 if step > 0 else -1), step)
    if list(found) != values:
        raise DomainError(f"size {name}: what is left of its range, {values[:8]}, is no range: expected sizes= for it")
    return found

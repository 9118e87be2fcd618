"""Domains as text: calls of their names with sizes, exact numbers, names and domains."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from resstream import domains
from resstream.arithmetic.literals import read_number
from resstream.domains import Domain
from resstream.domains.expectation import Randomness
from resstream.domains.laws import Law
from resstream.errors import DomainError
from resstream.falsify.syntax import ExpressionError, parse

LARGEST_NUMBER = 10**18
"""Numbers of a domain given as text may not go beyond this."""

Made = TypeVar("Made")

_MAKERS = ("Vector", "Scores", "Simplex", "RankOne", "Integers")
"""Functions that make a domain and read as one."""


def domain_makers() -> dict[str, Callable[..., Domain]]:
    """What makes a domain, by the name that text calls it by."""
    classes = {name: value for name, value in vars(domains).items() if isinstance(value, type)}
    makers = {name: value for name, value in classes.items() if issubclass(value, Domain) and value is not Domain}
    return {**makers, **{name: getattr(domains, name) for name in _MAKERS}}


def law_makers() -> dict[str, Callable[..., Randomness]]:
    """What makes what a mean may be taken over, by name: a law, or a domain, which a finite one stands for."""
    laws = {name: value for name, value in vars(domains).items() if isinstance(value, type) and issubclass(value, Law)}
    return {**domain_makers(), **{name: value for name, value in laws.items() if value is not Law}}


def parse_domain(text: str) -> Domain:
    """A domain from text: Causal(n), Matrix(n, 3), Norm(d, kinds=("l1",)), Scalar(0, 1/3), Stack(L, Matrix(d, d)).

    Bare names are sizes, decimals and quotients exact fractions. Anything but such calls raises ExpressionError with
    the place, and so does what the domain refuses.
    """
    tree = parse(text, "domain")
    return domain_of(text, tree, domain_makers())


def domain_of(text: str, node: ast.expr, makers: Mapping[str, Callable[..., Made]]) -> Made:
    """The domain, or law, that a node of the syntax tree of a text is a call of."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ExpressionError("domain", text, node, "expected a domain such as Causal(n)")
    name = node.func.id
    if name not in makers:
        known = ", ".join(sorted(makers))
        raise ExpressionError("domain", text, node, f"unknown domain {name!r}, expected one of {known}")
    if name == "Transformed":
        raise ExpressionError("domain", text, node, "Transformed takes a function: state such a claim in a file")
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ExpressionError("domain", text, keyword.value, "expected no **")
        keywords[keyword.arg] = _domain_argument(text, keyword.value)
    arguments = [_domain_argument(text, argument) for argument in node.args]
    try:
        inspect.signature(makers[name]).bind(*arguments, **keywords)
    except TypeError as failure:
        raise ExpressionError("domain", text, node, f"{name}: {failure}") from None
    try:
        return makers[name](*arguments, **keywords)
    except DomainError as failure:
        raise ExpressionError("domain", text, node, str(failure)) from None


def _domain_argument(text: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return domain_of(text, node, domain_makers())
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_domain_argument(text, entry) for entry in node.elts)
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (bool, str))):
        return node.value
    return _number(text, node)


def _number(text: str, node: ast.expr) -> int | Fraction:
    """A whole number, a decimal or a quotient of such, exactly."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _number(text, node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        above, below = Fraction(_number(text, node.left)), Fraction(_number(text, node.right))
        if below == 0:
            raise ExpressionError("domain", text, node, "division by zero")
        return above / below
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        try:
            value = read_number(ast.get_source_segment(text, node) or "")
        except DomainError as failure:
            raise ExpressionError("domain", text, node, str(failure)) from None
        if abs(value) > LARGEST_NUMBER:
            raise ExpressionError("domain", text, node, "expected a number of at most 10^18")
        return int(value) if value.denominator == 1 else value
    raise ExpressionError("domain", text, node, "expected a size, a number, None, a name or a domain")


__all__ = ["domain_makers", "domain_of", "law_makers", "parse_domain"]

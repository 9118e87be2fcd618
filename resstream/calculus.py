"""Claims about a function's derivatives, each made by one call: a Lipschitz constant, a Jacobian written by hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array, Exact, Literal, jacobian, ones
from resstream.claim import Claim, at_most, equal, every
from resstream.domains import Ball, Domain, Matrix, NonZero, Pair, Scalar
from resstream.errors import ClaimError, Kink
from resstream.reference import L2, Norm, operator_norm, row_norms
from resstream.relations import Relation


def lipschitz(
    id: str,  # noqa: A002 - the field's name
    function: Callable[..., Array],
    domain: Domain,
    constant: Any,
    norm_in: Norm = L2,
    norm_out: Norm | None = None,
    *,
    over: Mapping[str, Domain] | None = None,
    statement: str = "",
    **fields: Any,
) -> Claim:
    """The claim that ||f(y) - f(x)|| <= c ||y - x|| for all x and y of a domain.

    function: of x first, an array, and of what `over` names, to an array; entries count as one row, so that l2 is the
    Frobenius norm of a matrix. constant: c, a number or literal, or a function of what `over` names. norm_out is
    norm_in by default. x and y are searched near each other as often as not; over `Matrix`, `Vector`, `Scalar` and
    `Ball`, where the inside is dense, so is the operator norm of the Jacobian at x, which must be at most c too
    wherever f has one (not for pairs of norms whose operator norm has no certified value). Other fields are those of
    `Claim`, such as source=, sizes= and expect=. ClaimError for what is none of these.

    >>> from resstream.arithmetic import exact
    >>> from resstream.domains import Vector
    >>> from resstream.falsify import falsify
    >>> from resstream.reference import softmax
    >>> falsify(lipschitz("mine.softmax", softmax, Vector("d"), exact(1, 2)), 1_500).status
    'survived'
    >>> falsify(lipschitz("mine.softmax", softmax, Vector("d"), exact(49, 100)), 1_500).status
    'refuted'
    """
    outer = norm_in if norm_out is None else norm_out
    others = dict(over or {})
    if {"x", "pair"} & set(others):
        raise ClaimError(f"claim {id}: over: expected other names than x and pair, which the claim uses")
    if not callable(constant) and not isinstance(constant, (int, Fraction, Literal)):
        raise ClaimError(f"claim {id}: constant: expected a number, a literal or a function, got {constant!r:.40}")
    constant = Exact(constant) if isinstance(constant, Fraction) else constant
    flat = _has_inside(domain) and _has_operator_norm(norm_in, outer)

    def conclusion(pair: tuple[Array, Array], **rest: Any) -> Relation:
        x, y = pair
        bound = constant(**_given(constant, rest)) if callable(constant) else constant

        def of(row: Array) -> Array:
            return _row(function(row.reshape(*row.shape[:-2], *x.shape[-2:]), **_given(function, rest)))

        apart = at_most(row_norms(of(_row(y)) - of(_row(x)), outer), bound * row_norms(_row(y - x), norm_in))
        if not flat:
            return apart
        try:
            slope = operator_norm(jacobian(of, _row(x)), norm_in, outer)
        except Kink:
            return apart
        return every(apart, at_most(slope, bound * ones((1, 1), slope)))

    shown = constant.value if isinstance(constant, Exact) else _named(constant) if callable(constant) else constant
    said = f"{_named(function)} is Lipschitz from {norm_in} to {outer} with the constant {shown}"
    said += ", which its Jacobian at pair[0] does not exceed." if flat else "."
    return _claim(id, conclusion, {"pair": Pair(domain), **others}, statement or said, fields)


def jacobian_is(
    id: str,  # noqa: A002 - the field's name
    function: Callable[..., Array],
    written: Callable[..., Array],
    domain: Domain,
    *,
    over: Mapping[str, Domain] | None = None,
    statement: str = "",
    **fields: Any,
) -> Claim:
    """The claim that a Jacobian written by hand is that of a function of rows, in the row convention (df = dx @ J).

    function: (..., 1, d) -> (..., 1, e), written: (..., 1, d) -> (..., d, e), both of x first and of what `over` names.
    The domain's members have a neighbourhood on which the function is defined. Other fields are those of `Claim`.

    >>> from resstream.domains import NonConstant
    >>> from resstream.falsify import falsify
    >>> from resstream.reference import layer_norm, layer_norm_jacobian
    >>> falsify(jacobian_is("mine.layer_norm", layer_norm, layer_norm_jacobian, NonConstant("d")), 1_500).status
    'survived'
    """
    others = dict(over or {})
    if "x" in others:
        raise ClaimError(f"claim {id}: over: expected other names than x, which the claim uses")

    def conclusion(x: Array, **rest: Any) -> Relation:
        return equal(written(x, **_given(written, rest)), jacobian(lambda y: function(y, **_given(function, rest)), x))

    said = statement or f"The Jacobian of {_named(function)} is {_named(written)}."
    return _claim(id, conclusion, {"x": domain, **others}, said, fields)


def _claim(
    name: str, conclusion: Callable[..., Relation], over: dict[str, Domain], statement: str, fields: dict[str, Any]
) -> Claim:
    parameters = [inspect.Parameter(variable, inspect.Parameter.KEYWORD_ONLY) for variable in over]
    conclusion.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    try:
        return Claim(name, over, conclusion, statement=statement, **fields)
    except TypeError as failure:
        raise ClaimError(f"claim {name}: {failure}") from None


def _given(function: Callable[..., Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the other variables that a function asks for."""
    return {name: rest[name] for name in inspect.signature(function).parameters if name in rest}


def _row(x: Array) -> Array:
    """The entries of a matrix as one row: (..., n, d) -> (..., 1, n d)."""
    return x.reshape(*x.shape[:-2], 1, -1)


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "the function"


def _has_inside(domain: Domain) -> bool:
    """Whether a domain is known to be an open set and some of its boundary, so that a Jacobian speaks of its members.

    Not so for subclasses: symmetric matrices are some of the matrices, and a function may be steep across them.
    """
    if type(domain) is Scalar:
        return domain.low is None or domain.low != domain.high
    return type(domain) in (Matrix, NonZero, Ball)


def _has_operator_norm(norm_in: Norm, norm_out: Norm) -> bool:
    try:
        operator_norm(FLOAT64.array(np.eye(1)), Norm(norm_in.kind), Norm(norm_out.kind))
    except ClaimError:
        return False
    return True


__all__ = ["jacobian_is", "lipschitz"]

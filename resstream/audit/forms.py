"""Closed forms: names for numbers that a search found to many digits, and for how they depend on a size.

A form is Python text in the names below. What is proposed here is adopted elsewhere, and only on evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

NAMES: Mapping[str, Any] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "pi", "e")},
    "lambertw": lambda x: _lambert(x),
}
"""What a form may call."""

DIGITS = 1e-11
"""Relative distance up to which a number may be a catalogued one. The catalogue has about 10^5."""

LAW = 2e-7
"""Relative distance up to which a table agrees with a law."""

LEAST_POINTS = 3


def _lambert(x: float) -> float:
    w = math.log(1 + x)
    for _ in range(60):
        w -= (w * math.exp(w) - x) / (math.exp(w) * (1 + w))
    return w


def value(text: str, **sizes: float) -> float:
    """The value of a form."""
    return float(eval(text, {"__builtins__": {}}, {**NAMES, **sizes}))


def _rationals(largest: int) -> list[Fraction]:
    return sorted(
        {Fraction(p, q) for q in range(1, largest + 1) for p in range(1, largest + 1)}, key=lambda f: (f.denominator, f)
    )


def _times(factor: Fraction, text: str) -> str:
    if factor == 1:
        return text
    if factor.denominator == 1:
        return f"{factor.numerator}*{text}"
    top = text if factor.numerator == 1 else f"{factor.numerator}*{text}"
    return f"{top}/{factor.denominator}"


@cache
def _catalogue() -> tuple[np.ndarray[Any, Any], list[str]]:
    """Numbers below about 100 with a short name, and the names."""
    entries: dict[float, str] = {}

    def add(number: float, text: str) -> None:
        if 1e-6 < number < 1e6:
            key = float(f"{number:.14g}")
            if key not in entries or len(text) < len(entries[key]):
                entries[key] = text

    factors = _rationals(12)
    arguments = _rationals(6)
    for one in _rationals(60):
        add(float(one), str(one))
    bases: list[tuple[float, str]] = []
    for root in range(2, 41):
        if math.isqrt(root) ** 2 != root:
            bases.append((math.sqrt(root), f"sqrt({root})"))
            bases.append((1 / math.sqrt(root), f"1/sqrt({root})"))
    for argument in arguments:
        for function in ("exp", "sin", "cos", "tanh"):
            number = NAMES[function](float(argument))
            bases.append((number, f"{function}({argument})"))
            bases.append((1 / number, f"1/{function}({argument})"))
    for number in range(2, 12):
        bases.append((math.log(number), f"log({number})"))
        bases.append((1 / math.log(number), f"1/log({number})"))
    bases += [
        (math.pi, "pi"),
        (1 / math.pi, "1/pi"),
        (math.sqrt(math.pi), "sqrt(pi)"),
        (math.sqrt(2 / math.pi), "sqrt(2/pi)"),
    ]
    for number in range(1, 8):
        for denominator in ("e", "1"):
            w = _lambert(number / (math.e if denominator == "e" else 1))
            bases.append((w, f"lambertw({number}/{denominator})" if denominator == "e" else f"lambertw({number})"))
    for number, text in bases:
        for factor in factors:
            if text.startswith("1/"):
                add(float(factor) * number, f"{factor.numerator}/({_times(Fraction(factor.denominator), text[2:])})")
            else:
                add(float(factor) * number, _times(factor, text))
    for under in (under for under in range(2, 20) if math.isqrt(under) ** 2 != under):
        for whole in (whole for whole in range(-6, 7) if whole):
            for below in range(1, 5):
                for sign in (1, -1):
                    text = f"{whole} {'+' if sign > 0 else '-'} sqrt({under})"
                    text = f"({text})/{below}" if below > 1 else text
                    add((whole + sign * math.sqrt(under)) / below, text)
    numbers = sorted(entries)
    return np.array(numbers), [entries[number] for number in numbers]


def name_of(number: float, distance: float = DIGITS) -> str:
    """The shortest form for a number that agrees to `distance`, relatively; empty where there is none.

    First the catalogue of rationals, roots and values of elementary functions, then `mpmath.identify`.
    """
    if not math.isfinite(number) or number <= 0:
        return ""
    numbers, texts = _catalogue()
    low, high = np.searchsorted(numbers, [number * (1 - distance), number * (1 + distance)])
    near = [texts[place] for place in range(low, high)]
    if near:
        return min(near, key=len)
    return _identified(number, distance)


def _identified(number: float, distance: float) -> str:
    import mpmath  # type: ignore[import-untyped]

    with mpmath.workdps(15):
        found = mpmath.identify(number, ["sqrt(2)", "sqrt(3)"], tol=distance)
    if not found or len(found) > 40:
        return ""
    text = str(found)
    try:
        return text if abs(value(text) - number) <= distance * number else ""
    except (NameError, SyntaxError, TypeError, ZeroDivisionError, ValueError):
        return ""


# ---- laws in a size ---------------------------------------------------------

Form = Callable[[float], float]


_LAWS = (
    "N, sqrt(N), 1/N, 1/sqrt(N), N**2, 1/N**2, (N - 1)/N, sqrt((N - 1)/N), 1/(N - 1), 1/sqrt(N - 1), N/(N + 1), "
    "sqrt(N/(N + 1)), (N - 1)/(N + 1), N - 1, sqrt(N - 1), N + 1, 1/(N + 1), (N - 2)/N, (1 - 1/N)**N, (1 + 1/N)**N, "
    "(1 - 1/N)**(N - 1), (1 + 1/N)**(N + 1), log(N), 1/log(N), log(N)/N, log(N + 1), lambertw((N - 1)/e), "
    "lambertw((N - 1)/e)/log(N), lambertw(N), lambertw(N)/log(N), lambertw(N/e)/log(N), sin(pi/N), cos(pi/N), "
    "tan(pi/N), sin(pi/(2*N)), cos(pi/(2*N)), tan(pi/(2*N)), cos(pi/(N + 1)), 1/sin(pi/(2*N)), 1 - 1/N**2, "
    "sqrt(1 - 1/N**2), 1/(N*(N - 1)), 1/(N*(N + 1)), (2*N - 1)/N, (N - 1)/(2*N), N/(2*(N - 1)), N/(2*(N + 1)), "
    "1/(2*N - 1), (N - 1)/(2*N - 1), N/(2*N - 1), exp(-N), exp(-1/N), exp(1/N), tanh(1/N), 1 - exp(-N), "
    "exp(1)/(exp(1) + N - 1), (N - 1)/(exp(1) + N - 1), (N - exp(1))/N"
)
"""Further functions of a size, besides products of powers of N - 1, N and N + 1."""


@cache
def _laws() -> tuple[tuple[str, Form], ...]:
    """Functions of a size N, up to a constant factor."""
    found: list[tuple[str, Form]] = []

    def add(text: str) -> None:
        code = compile(text, "<form>", "eval")
        found.append((text, lambda n: float(eval(code, {"__builtins__": {}}, {**NAMES, "N": n}))))

    powers = ("/{}", "/sqrt({})", "*sqrt({})", "*({})", "*({})**2", "/({})**2")
    for first in powers:
        for second in powers:
            add("1" + first.format("N") + second.format("N - 1"))
            add("1" + first.format("N") + second.format("N + 1"))
            add("1" + first.format("N - 1") + second.format("N + 1"))
    for text in _LAWS.split(", "):
        add(text)
    return tuple(found)


def law_of(table: Mapping[int, float], size: str) -> tuple[str, int] | None:
    """A form in a size that agrees with a table of best ratios, and with how many of its values.

    Constant tables have none. A table may fall short of the law at its last values, where searches are hardest.
    """
    points = [(n, v) for n, v in sorted(table.items()) if v > 0]
    if len(points) < LEAST_POINTS or max(v for _, v in points) - min(v for _, v in points) < 1e-6:
        return None
    best: tuple[int, int, str] | None = None
    for text, form in [*_laws(), *_geometric(points)]:
        factor, matched = _agreement(points, form)
        if matched < LEAST_POINTS or (best is not None and (-matched, len(text)) >= best[:2]):
            continue
        name = "1" if abs(factor - 1) < LAW else name_of(factor, 1e-7 if matched < 4 else 1e-6)
        if not name:
            continue
        whole = text if name == "1" else f"{name}*({text})" if "/" not in name else f"({name})*({text})"
        best = (-matched, len(text), whole)
    return None if best is None else (best[2].replace("N", size) if size != "N" else best[2], -best[0])


def _agreement(points: list[tuple[int, float]], form: Form) -> tuple[float, int]:
    """The factor that the first value asks for, and how many values agree; 0 where a later one lies above the law."""
    try:
        factor = points[0][1] / form(points[0][0])
        shares = [v / (factor * form(n)) for n, v in points]
    except (ZeroDivisionError, ValueError, OverflowError):
        return 1.0, 0
    agree = [abs(share - 1) <= LAW for share in shares]
    if any(share > 1 + LAW for share in shares) or not all(agree[:LEAST_POINTS]):
        return factor, 0
    return factor, sum(agree)


def _geometric(points: list[tuple[int, float]]) -> Iterator[tuple[str, Form]]:
    """Powers of the quotient of the first two values."""
    (n, first), (m, second) = points[:2]
    squared = (second / first) ** (2 / (m - n))
    near = Fraction(squared).limit_denominator(64)
    if near > 0 and near != 1 and abs(float(near) - squared) < LAW * squared:
        whole = near.numerator == 1
        text = f"{near.denominator}**((1 - N)/2)" if whole else f"({near})**((N - 1)/2)"
        yield text, lambda k: float(near) ** ((k - 1) / 2)


def limit_of(text: str, size: str) -> float:
    """What a form in a size tends to, as far as very large sizes tell."""
    try:
        return value(text, **{size: 1e100 if "log" in text or "lambertw" in text else 1e12})
    except (OverflowError, ValueError, ZeroDivisionError):
        return float("nan")

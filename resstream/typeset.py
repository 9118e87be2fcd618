"""Mathematics as it is written in statements and in code, set as a reader expects it."""

from __future__ import annotations

import re

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "lambda": "λ", "mu": "μ",
    "sigma": "σ", "tau": "τ", "theta": "θ", "pi": "π",
}  # fmt: skip
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "||": "‖", "infinity": "∞"}
_RAISED = str.maketrans("0123456789+-nkdLSm", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵏᵈᴸˢᵐ")
_LOWERED = str.maketrans("0123456789+-ijklmnhx", "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₗₘₙₕₓ")

_WORD = re.compile(r"(?<![\w.])(" + "|".join(_GREEK) + r")(?=_|\b)(?!\w*\.\w)")
_SIGN = re.compile("|".join(re.escape(sign) for sign in _SIGNS))
_POWER = re.compile(r"\^(?:\{([0-9+\-nkdLSm]+)\}|([0-9nkdLSm]|-\d)(?![\w.]))")
_INDEX = re.compile(r"(?<=[A-Za-zα-ω])_(?:\{([0-9ijklmnhx+\-]+)\}|([0-9ijklmnhx]+)(?![A-Za-z_]))")


def prose(text: str) -> str:
    """A statement in plain text with its formulas in Unicode: `tau(A)^2 <= ||W||` is τ(A)² ≤ ‖W‖.

    >>> prose("diam(AX) <= tau(A)^2 diam(X_0), ||x|| -> 0")
    'diam(AX) ≤ τ(A)² diam(X₀), ‖x‖ → 0'
    """
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
    text = _WORD.sub(lambda found: _GREEK[found[1]], text)
    text = _POWER.sub(lambda found: (found[1] or found[2]).translate(_RAISED), text)
    return _INDEX.sub(lambda found: (found[1] or found[2]).translate(_LOWERED), text)

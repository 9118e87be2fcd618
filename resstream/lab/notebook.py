"""The cloud in a notebook: drag the tokens, and read them back in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import ResstreamError, ShapeError
from resstream.lab.page import cloud_data, module, style

CLOUD_MODULES = ("mathematics", "rational", "cloud_model", "dom", "fragment", "charts", "points", "cloud", "notebook")

REACH, MOST = 2.0, 24
"""Half the width of the view, and how many tokens fit it."""


def cloud(X: Array | None = None, **settings: Any) -> Any:
    """The laboratory's cloud as a widget (Jupyter, marimo, VS Code): its `value` is the tokens (n, 2) as dragged.

    X: tokens (n, 2) in [-2, 2], two decimals; the laboratory's ten by default. settings: `beta`, `depth`, `step`,
    `size`, `angle`, `stretch`, `mask`, `skip`, `norm` ("none", "rms", "layer"), `placement` ("pre", "post"), `layer`,
    `fit`, `grain`. Needs the extra "notebook"; raises ShapeError and ResstreamError for tokens and settings that do not
    fit.
    """
    tokens = _tokens(cloud_data()["tokens"] if X is None else X)
    unknown = sorted(set(settings) - set(DEFAULTS))
    if unknown:
        raise ResstreamError(f"settings: expected some of {', '.join(DEFAULTS)}, got {', '.join(unknown)}")
    for name, value in settings.items():
        usual = DEFAULTS[name]
        kind = str if isinstance(usual, str) else bool if isinstance(usual, bool) else (int, float)
        if not isinstance(value, kind) or (isinstance(value, bool) and not isinstance(usual, bool)):
            raise ResstreamError(f"{name}: expected a value such as {usual!r}, got {value!r}")
    return _widget(tokens, {**DEFAULTS, **settings})


DEFAULTS: dict[str, Any] = {
    "beta": 4.0, "depth": 12, "step": 1.0, "size": 1.0, "angle": 0, "stretch": 1.0, "mask": False, "skip": False,
    "norm": "none", "placement": "pre", "layer": 0, "fit": False, "grain": 1000,
}  # fmt: skip


def _tokens(X: Any) -> list[list[float]]:
    try:
        array = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"X: expected tokens (n, 2) of numbers, got {type(X).__name__}") from None
    if array.ndim != 2 or array.shape[1] != 2 or not 1 <= len(array) <= MOST:
        raise ShapeError(f"X: expected tokens (n, 2) with n from 1 to {MOST}, got shape {array.shape}")
    if not (np.abs(array) <= REACH).all():  # NaN is refused too
        raise ShapeError(f"X: expected entries from {-REACH} to {REACH}, got {array[~(np.abs(array) <= REACH)][0]}")
    rounded: list[list[float]] = array.round(2).tolist()
    return rounded


def _widget(tokens: list[list[float]], settings: dict[str, Any]) -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise ResstreamError("lab.cloud needs anywidget: pip install 'resstream[notebook]'") from None

    class Cloud(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """The cloud; `value` is its tokens as an array (n, 2)."""

        _esm = module(CLOUD_MODULES)
        _css = style()
        tokens = traitlets.List().tag(sync=True)
        settings = traitlets.Dict().tag(sync=True)
        presets = traitlets.List().tag(sync=True)

        @property
        def value(self) -> Array:
            """The tokens as they now stand, (n, 2)."""
            return np.array(self.tokens, dtype=float)

    return Cloud(tokens=tokens, settings=settings, presets=cloud_data()["presets"])

"""Monte Carlo measurements of random stacks and vectors: gradients over depth, the thin shell, growth along depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.errors import TrainingError
from resstream.induction.stacks import Placement, stack_gradient
from resstream.reference import MLP, Block, Head, centre, layer_norm

# ---- gradients over depth ---------------------------------------------------


@dataclass(frozen=True)
class StackSettings:
    """Random stacks: their sizes, and the draws that a root mean square is over. Bad settings raise TrainingError.

    Stream, attention maps and W_1 have variance 1 over their input width (the stream: 1), W_2 twice that, for the ReLU
    before it halves the second moment. The readout is standard normal, one vector for each token; there is no mask.
    """

    width: int = 64
    heads: int = 4
    inner: int = 256
    tokens: int = 8
    draws: int = 8

    def __post_init__(self) -> None:
        for name in ("width", "heads", "inner", "tokens", "draws"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name}: expected 1 or more, got {getattr(self, name)}")
        if self.width % self.heads:
            raise TrainingError(f"heads: expected a divisor of the width {self.width}, got {self.heads}")


@dataclass(frozen=True)
class DepthReading:
    """Root mean squares over draws: of the Frobenius norms of two gradients, and of the last state's rows."""

    last: float
    """Gradient of the last block's W_2."""
    first: float
    """Gradient of the first block's W_2."""
    stream: float
    """Norm of a row of x_L."""


def random_block(random: np.random.Generator, settings: StackSettings) -> Block:
    """One block for every draw, with leading axis (draws,)."""
    d, w, h, count = settings.width, settings.inner, settings.width // settings.heads, settings.draws

    def draw(rows: int, columns: int, variance: float) -> Array:
        return random.standard_normal((count, rows, columns)) * variance**0.5

    heads = [
        Head(draw(d, h, 1 / d), draw(d, h, 1 / d), draw(d, h, 1 / d), draw(h, d, 1 / d)) for _ in range(settings.heads)
    ]
    zero = np.zeros((count, 1, 1))
    return Block(heads, MLP(draw(d, w, 1 / d), zero + np.zeros(w), draw(w, d, 2 / w), zero + np.zeros(d)))


def gradient_depth(
    random: np.random.Generator, depth: int, placement: Placement, settings: StackSettings | None = None
) -> DepthReading:
    """Gradients of random stacks of one depth at initialisation. Source: the table of The identity path."""
    settings = settings or StackSettings()
    if depth < 1:
        raise TrainingError(f"depth: expected 1 or more, got {depth}")
    blocks = [random_block(random, settings) for _ in range(depth)]
    shape = (settings.draws, settings.tokens, settings.width)
    x0, readout = random.standard_normal(shape), random.standard_normal(shape)
    with FLOAT64.working():
        found = stack_gradient(x0, blocks, readout, placement)
    return DepthReading(
        last=_root_mean_square(_frobenius(found.blocks[-1].mlp.W_2)),
        first=_root_mean_square(_frobenius(found.blocks[0].mlp.W_2)),
        stream=_root_mean_square(np.linalg.norm(found.last, axis=-1)),
    )


def _frobenius(matrices: Array) -> Array:
    return np.linalg.norm(matrices, axis=(-2, -1))


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


# ---- the thin shell ---------------------------------------------------------


@dataclass(frozen=True)
class ThinShell:
    """Medians over normal vectors of how far LayerNorm moves them, relative to the centred vector (or the vector)."""

    radial: float
    """||LN(x) - Px|| / ||Px||."""
    from_x: float
    """||LN(x) - x|| / ||x||, where the centring counts too."""


def thin_shell(random: np.random.Generator, width: int, deviation: float = 1.0, count: int = 4000) -> ThinShell:
    """Median relative change of LayerNorm on vectors with independent normal entries. Source: after Corollary 1."""
    x = deviation * random.standard_normal((count, width))
    normalised, centred = layer_norm(x), centre(x)

    def size(rows: Array) -> Array:
        return np.linalg.norm(rows, axis=-1)

    return ThinShell(
        radial=float(np.median(size(normalised - centred) / size(centred))),
        from_x=float(np.median(size(normalised - x) / size(x))),
    )


def thin_shell_limit(width: int, deviation: float = 1.0) -> float:
    """Limit of the radial median for large widths: 0.6745 / sqrt(2 (d - 1)) at deviation 1, else |1 / deviation - 1|.

    ||Px||^2 is chi-squared with d - 1 degrees of freedom, so ||Px|| / sqrt d is normal about 1 with deviation
    1 / sqrt(2 (d - 1)), and 0.6745 is the median of the absolute value of a standard normal number.
    """
    quartile = 0.674489750196082
    return quartile / (2 * (width - 1)) ** 0.5 if deviation == 1 else abs(1 / deviation - 1)


# ---- growth along depth -----------------------------------------------------


@dataclass(frozen=True)
class Growth:
    """Root-mean-square growth over depth, measured and by its closed form."""

    residual: float
    residual_expected: float
    """(1 + alpha^2)^(S/2)."""
    plain: float
    plain_expected: float
    """alpha^S."""
    forward: float
    forward_expected: float
    """Of a stream that starts at length 1 and takes S independent writes of length 1: sqrt(1 + S)."""


def growth(random: np.random.Generator, depth: int, alpha: float, width: int = 32, count: int = 2000) -> Growth:
    """Growth of a gradient through S random Jacobians of variance alpha^2 / d, with and without the identity path.

    The second moments are exact for every width, since the Jacobians are independent and have mean zero: each maps the
    squared length of a gradient to alpha^2 times it, on average, and is uncorrelated with the identity beside it.
    """
    start = random.standard_normal((count, 1, width))
    start /= np.linalg.norm(start, axis=-1, keepdims=True)
    residual, plain, stream = start, start, start
    for _ in range(depth):
        J = random.standard_normal((count, width, width)) * (alpha / width**0.5)
        residual, plain = residual + residual @ J, plain @ J
        write = random.standard_normal((count, 1, width))
        stream = stream + write / np.linalg.norm(write, axis=-1, keepdims=True)
    lengths = [_root_mean_square(np.linalg.norm(x, axis=-1)) for x in (residual, plain, stream)]
    return Growth(
        residual=lengths[0], residual_expected=(1 + alpha**2) ** (depth / 2),
        plain=lengths[1], plain_expected=alpha**depth,
        forward=lengths[2], forward_expected=(1 + depth) ** 0.5,
    )  # fmt: skip

"""How nearly orthogonal random subspaces are: 64 dimensions of 768, the sizes of a head in a small language model.

The annotated edition (18) calls two such subspaces almost certainly orthogonal. Their composition score is small, as it
averages over all directions; their largest cosine is not.
"""

import numpy as np
import pytest

from resstream.reference import composition_score
from resstream.reference.spectrum import singular_values

WIDTH, HEAD = 768, 64
DRAWS = 4

SHARE = HEAD / WIDTH
LARGEST = 2 * np.sqrt(SHARE * (1 - SHARE))
"""Where the largest cosine of two random subspaces of this share gathers as the width grows: 0.5528."""

FLUCTUATION = 4 * WIDTH ** (-2 / 3)
"""The edge of such a spectrum moves by the power -2/3 of the width (Tracy and Widom); four times that is allowed."""


@pytest.fixture(scope="module")
def subspaces():
    """Orthonormal columns (DRAWS, 2, 768, 64), the span of Gaussian matrices."""
    rng = np.random.default_rng(0)
    return np.linalg.qr(rng.standard_normal((DRAWS, 2, WIDTH, HEAD))).Q


def test_the_largest_cosine_is_far_from_zero(subspaces):
    cosines = singular_values(subspaces[:, 0].mT @ subspaces[:, 1])[..., 0, 0]
    assert np.all(np.abs(cosines - LARGEST) < FLUCTUATION)
    assert np.all(cosines > 0.5)


def test_the_mean_square_cosine_is_the_share(subspaces):
    """64 cosines whose squares average 1/12; the sum of 4096 squared entries of variance 2/768^2 moves by a share of
    sqrt(2/4096), and five times that is allowed.
    """
    squares = np.mean(singular_values(subspaces[:, 0].mT @ subspaces[:, 1]) ** 2, axis=(-2, -1))
    assert np.all(np.abs(squares / SHARE - 1) < 5 * np.sqrt(2) / HEAD)


def test_the_composition_score_of_random_heads_is_the_baseline():
    """Two random matrices of rank 64: 1/sqrt 768 = 0.036, up to a share of a few times 1/64."""
    rng = np.random.default_rng(1)
    V, O, Q, K = (rng.standard_normal((DRAWS, WIDTH, HEAD)) for _ in range(4))  # noqa: E741
    scores = composition_score(V @ O.mT, Q @ K.mT)
    assert np.all(np.abs(scores * np.sqrt(WIDTH) - 1) < 5 / HEAD)

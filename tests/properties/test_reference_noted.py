"""What is noted of ranks and eigenvalues: facts that hold, as many as decide the matter, and no more than allowed."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic import RATIONAL, exp
from resstream.arithmetic.obligations import NONZERO, ZERO, noting
from resstream.arithmetic.terms import Terms
from resstream.errors import NotExpressible
from resstream.reference.noted import are_terms, determinant_of, exact_values, noted_eigenvalues, noted_rank

TERMS = Terms()


def test_terms_are_known() -> None:
    with TERMS.working():
        assert are_terms(TERMS.array([[1, 2]]))
    assert not are_terms(RATIONAL.array([[1, 2]]))
    assert not are_terms(np.zeros((2, 2)))


def test_values_are_the_numbers_that_terms_stand_for() -> None:
    with TERMS.working():
        assert exact_values(TERMS.array([[1, "1/3"]])).tolist() == [[1, fmpq(1, 3)]]
        with pytest.raises(NotExpressible, match="not rational"):
            exact_values(exp(TERMS.array([[1, 0]])))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants_by_the_first_row(size: int) -> None:
    whole = np.random.default_rng(size).integers(-4, 5, (size, size))
    with TERMS.working():
        assert determinant_of(TERMS.array(whole)).exact == round(np.linalg.det(whole))


def of_rank(rank: int, rows: int, columns: int) -> np.ndarray:
    """A whole matrix of that rank whose first minors vanish."""
    matrix = np.zeros((rows, columns), dtype=int)
    for k in range(rank):
        matrix[rows - 1 - k, columns - 1 - k] = k + 1
    return matrix


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (3, 3), (1, 4)])
def test_a_rank_is_noted_by_its_minors(shape: tuple[int, int]) -> None:
    """One minor of that size is not zero, and every larger one is; nothing is larger than the matrix."""
    for rank in range(min(shape) + 1):
        with TERMS.working(), noting() as notes:
            found = noted_rank(TERMS.array(of_rank(rank, *shape)))
        assert found.exact == rank
        nonzero = [note for note in notes if note.kind == NONZERO]
        zero = [note for note in notes if note.kind == ZERO]
        assert len(nonzero) == (1 if rank else 0)
        assert all(note.entry.exact != 0 for note in nonzero)
        assert len(zero) == comb(shape[0], rank + 1) * comb(shape[1], rank + 1)
        assert all(note.entry.exact == 0 for note in zero)
        assert all(note.role.startswith(f"rank {rank}: ") for note in (*nonzero, *zero))


def test_one_minor_is_enough() -> None:
    """Of nine that are not zero."""
    with TERMS.working(), noting() as notes:
        assert noted_rank(TERMS.array(np.ones((3, 3), dtype=int))).exact == 1
    assert sum(note.kind == NONZERO for note in notes) == 1


def test_minors_are_noted_up_to_a_number() -> None:
    """A row of forty has as many minors of size one as are allowed, and of forty-one too many; full rank needs none."""
    with TERMS.working():
        with noting() as notes:
            assert noted_rank(TERMS.array(np.zeros((1, 40), dtype=int))).exact == 0
        assert len(notes) == 40
        with pytest.raises(NotExpressible, match="the rank of a matrix this large"):
            noted_rank(TERMS.array(np.zeros((1, 41), dtype=int)))
        assert noted_rank(TERMS.array(np.ones((1, 41), dtype=int))).exact == 1
        with pytest.raises(NotExpressible, match="the rank of a matrix this large"):
            noted_rank(TERMS.array(of_rank(1, 5, 5)))


@pytest.mark.parametrize(
    ("whole", "roots"),
    [
        ([[5]], [5]),
        ([[2, 1], [0, -3]], [2, -3]),
        ([[2, 1], [1, 2]], [3, 1]),
        ([[1, 1, 0], [0, 1, 2], [0, 0, 4]], [1, 1, 4]),
        ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], [2, -1, -1]),
        ([[0, 1, 0, 0], [0, 2, 2, 0], [0, 0, 2, 3], [0, 0, 0, -1]], [0, 2, 2, -1]),
    ],
)
def test_eigenvalues_are_noted_by_the_characteristic_polynomial(whole: list[list[int]], roots: list[int]) -> None:
    """As many coefficients as there are roots, each the symmetric function of them; other roots give other numbers."""
    size = len(roots)
    with TERMS.working():
        with noting() as notes:
            values = noted_eigenvalues(TERMS.array(np.array(whole)), [fmpq(root) for root in roots])
        assert [value.exact for value in values] == roots
        differences = [note for note in notes if note.kind == ZERO]
        assert len(differences) == size
        assert all(note.entry.exact == 0 for note in differences)
        for place in range(size):
            wrong = [fmpq(root + (k == place)) for k, root in enumerate(roots)]
            with noting() as notes:
                noted_eigenvalues(TERMS.array(np.array(whole)), wrong)
            assert any(note.kind == ZERO and note.entry.exact != 0 for note in notes)

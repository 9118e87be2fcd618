"""The domain of norms: what it builds of raw numbers, and what it holds."""

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL
from resstream.arithmetic.unknowns import SymbolicUnknowns, cases
from resstream.domains import Norm
from resstream.errors import DomainError
from resstream.reference import L1, L2, LINF, row_norms
from resstream.reference import Norm as NormValue

from .conftest import SYSTEMS

CHANGED = {"kind": "l1", "basis": "changed"}


def raw(system, *shape):
    """2 below one diagonal, 3 above the other, which is 4 and -1/2; what else stands there is not read."""
    lower, upper = np.array([[9, 9], [2, 9]]), np.array([[8, 6], [9, -1]])
    halves = {"lower": 2 * lower, "upper": upper}
    return {name: system.array(np.broadcast_to(x, (*shape, 2, 2)).copy()) / 2 for name, x in halves.items()}


@SYSTEMS
@pytest.mark.parametrize("shape", [(), (5,)])
def test_a_changed_basis_is_a_product_of_triangles_with_a_positive_diagonal(system, shape):
    """[[1, 0], [2, 1]] @ [[1, 3], [0, 1]] with its columns multiplied by 4 and 1/2, whose inverse is exact."""
    norm = Norm("d").build(raw(system, *shape), CHANGED, {"d": 2})
    assert norm.kind == "l1"
    assert norm.basis.shape == norm.inverse.shape == (*shape, 2, 2)
    assert (2 * norm.basis == np.array([[8, 3], [16, 7]])).all()
    assert (norm.basis @ norm.inverse == np.eye(2, dtype=int)).all()
    x = system.array([[1, -1]])
    assert (row_norms(x, norm) == 6).all()  # (4 - 8, 3/2 - 7/2)


@SYSTEMS
def test_raw_zeros_are_no_change(system):
    zeros = {name: 0 * values for name, values in raw(system).items()}
    norm = Norm("d").build(zeros, CHANGED, {"d": 2})
    assert (norm.basis == np.eye(2, dtype=int)).all()
    assert (norm.inverse == np.eye(2, dtype=int)).all()
    plain = Norm("d").build({}, {"kind": "linf", "basis": "standard"}, {"d": 2})
    assert (plain.kind, plain.basis, plain.inverse) == ("linf", None, None)


def test_kinds_and_bases_are_what_is_asked_for():
    assert Norm("d").options() == {"kind": ("linf", "l1", "l2"), "basis": ("standard", "changed")}
    assert Norm("d", ["l2"], bases=False).options() == {"kind": ("l2",), "basis": ("standard",)}
    assert Norm("d", ["l2"]).kinds == ("l2",)
    assert Norm("d").parts({"d": 3}, {"kind": "l1", "basis": "standard"}) == {}
    assert {name: part.shape for name, part in Norm("d").parts({"d": 3}, CHANGED).items()} == {
        "lower": (3, 3),
        "upper": (3, 3),
    }
    for wrong in ((), ("l1", "l1"), ("l1", "l7"), "l1", None):
        with pytest.raises(DomainError, match=r"Norm: kinds: expected a tuple of some of .*, each once, got"):
            Norm("d", wrong)
    with pytest.raises(DomainError, match="Norm: size: "):
        Norm(0)


def test_the_domain_holds_norms_of_its_kinds_and_their_exact_inverses():
    sizes = {"d": 2}
    basis, inverse = RATIONAL.array([[2, 1], [0, 4]]), RATIONAL.array([[4, -1], [0, 2]]) / 8
    changed = NormValue("l1", basis, inverse)
    every, plain = Norm("d", ("l1", "l2")), Norm("d", ("l1", "l2"), bases=False)
    assert [every.contains(value, sizes) for value in (L1, L2, LINF, changed, "l1")] == [True, True, False, True, False]
    assert [plain.contains(value, sizes) for value in (L1, LINF, changed)] == [True, False, False]
    assert not every.contains(changed, {"d": 3})
    object.__setattr__(changed, "inverse", 2 * inverse)
    assert not every.contains(changed, sizes)
    for held in ((None, inverse), (basis, None)):
        half = NormValue("l1")
        object.__setattr__(half, "basis", held[0])
        object.__setattr__(half, "inverse", held[1])
        assert not every.contains(half, sizes)


def test_unknown_norms_of_one_number_are_positive_multiples_of_its_absolute_value():
    standard = Norm("d").piece(SymbolicUnknowns(next(cases())), {"d": 1}, {"kind": "l2", "basis": "standard"})
    assert (standard.object.kind, standard.object.basis, standard.raw) == ("l2", None, {})
    changed = Norm("d").piece(SymbolicUnknowns(next(cases())), {"d": 1}, CHANGED)
    norm = changed.object
    assert norm.kind == "linf"
    assert norm.basis.item().value.is_positive
    assert (norm.basis @ norm.inverse).item() == 1
    assert changed.raw["upper"].item() == norm.basis.item()
    assert changed.raw["lower"].item() == 0
    two = Norm("d").piece(SymbolicUnknowns(next(cases())), {"d": 2}, CHANGED).object
    assert (two.kind, two.basis.shape) == ("l1", (2, 2))

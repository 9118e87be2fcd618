"""Claims that state equalities, proved at small sizes by algebra where that can be done."""

from __future__ import annotations

import pytest

from resstream import claims
from resstream.claim import Claim, at_most, claim, equal, every
from resstream.domains import Matrix, NonConstant, Norm, Permutation, RowStochastic, Scalar, Whole
from resstream.errors import ClaimError
from resstream.falsify.search import plan, search
from resstream.prove.identity import prove_identity, small_sizes
from resstream.reference import diameter, dobrushin, dobrushin_overlap, layer_norm

LIBRARY = claims.library()


@pytest.mark.parametrize("identifier", LIBRARY)
def test_what_is_proved_is_not_refuted_there(identifier: str) -> None:
    """An identity of the library is proved or not decided. One that is false may be true at the sizes of a proof (a
    softmax over a single key is 1): there a search must find nothing, and elsewhere it does.
    """
    stated = LIBRARY[identifier]
    result = prove_identity(stated)
    assert result.proved == (not result.detail)
    if result.proved and stated.expect == "fails":
        there = {name: range(size, size + 1) for name, size in result.sizes.items()}
        assert 1 in result.sizes.values()
        assert search(stated.replace(sizes=there), plan(20, 1)).status == "survived"
        assert search(stated, plan(20, 1)).status == "refuted"


@pytest.mark.parametrize(
    "identifier",
    [
        "circuits.path_expansion",
        "composition.score_terms",
        "dobrushin.two_forms",
        "heads.sum_is_concat",
        "identity_path.subset_sum",
        "layernorm.jacobian",
        "mlp.key_value_sum",
        "rmsnorm.jacobian",
        "softmax.jacobian",
    ],
)
def test_identities_of_the_library_are_proved(identifier: str) -> None:
    assert prove_identity(LIBRARY[identifier]).proved


def _stated() -> dict[str, Claim]:
    """True and false claims of this file alone (at the top of a module they would be collected as tests)."""

    @claim("two.forms", over={"A": RowStochastic("n")})
    def two_forms(A):
        return equal(dobrushin(A), dobrushin_overlap(A))

    @claim("two.forms_halved", over={"A": RowStochastic("n")}, sizes={"n": range(2, 4)})
    def two_forms_halved(A):
        return equal(2 * dobrushin(A), dobrushin_overlap(A))

    @claim("norms.scale", over={"X": Matrix("n", "d"), "c": Scalar(), "norm": Norm("d")}, sizes={"n": range(2, 4)})
    def scaled_diameter(X, c, norm):
        return equal(diameter(c * X, norm), abs(c) * diameter(X, norm))

    @claim("norms.sign", over={"X": Matrix("n", "d"), "c": Scalar(), "norm": Norm("d")}, sizes={"n": range(2, 4)})
    def signed_diameter(X, c, norm):
        return equal(diameter(c * X, norm), c * diameter(X, norm))

    @claim("order.kept", over={"x": NonConstant("d"), "order": Permutation("d")}, sizes={"d": range(2, 4)})
    def norm_of_reordered(x, order):
        return equal(layer_norm(x @ order), layer_norm(x) @ order)

    @claim("whole.square", over={"k": Whole(0, 5)})
    def square_of_small_number(k):
        return equal(k * (k - 1) * (k - 2) * (k - 3) * (k - 4) * (k - 5), 0 * k)

    @claim("whole.many", over={"k": Whole(0, 5, 2, 2)})
    def too_many_numbers(k):
        return equal(k, k)

    @claim("an.inequality", over={"A": RowStochastic("n")})
    def an_inequality(A):
        return every(equal(dobrushin(A), dobrushin_overlap(A)), at_most(dobrushin(A), 1))

    @claim("no.reading", over={"A": RowStochastic("n")})
    def no_reading(A):
        return equal(float(A[0, 0]), A[0, 0])

    return {value.id: value for value in locals().values()}


STATED = _stated()


@pytest.mark.parametrize("identifier", ["two.forms", "order.kept", "whole.square"])
def test_true_identities_are_proved(identifier: str) -> None:
    result = prove_identity(STATED[identifier])
    assert result.proved, str(result)
    assert str(result).startswith("proved")


@pytest.mark.parametrize(
    ("identifier", "reason"),
    [
        ("two.forms_halved", "does not simplify to zero"),
        ("norms.sign", "does not simplify to zero for norm.kind linf for norm.basis standard"),
        ("an.inequality", "it states an inequality"),
        ("whole.many", "more than 24 pieces"),
        ("no.reading", "no symbolic reading"),
    ],
)
def test_what_is_not_proved_says_why(identifier: str, reason: str) -> None:
    result = prove_identity(STATED[identifier])
    assert not result.proved
    assert reason in str(result)


def test_every_option_is_covered_and_none_is_skipped() -> None:
    """A scaled diameter holds for each norm on its own; the claim is proved only if all of them are."""
    standard = STATED["norms.scale"].replace(over={"norm": Norm("d", bases=False)})
    assert prove_identity(standard, {"n": 2, "d": 2}).proved
    assert not prove_identity(STATED["norms.sign"].replace(over={"norm": Norm("d", kinds=("l2",))})).proved


def test_sizes_are_chosen_or_given() -> None:
    assert small_sizes(STATED["order.kept"]) == [{"d": 2}]
    assert small_sizes(STATED["two.forms"]) == [{"n": 2}, {"n": 1}]
    assert str(prove_identity(STATED["two.forms"], {"n": 3})) == "proved at n=3"
    with pytest.raises(ClaimError, match=r"expected the sizes \['n'\], got \['m'\]"):
        prove_identity(STATED["two.forms"], {"m": 2})

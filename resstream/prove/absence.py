"""That no member of a domain meets a relation: a proof by Z3, over all that the domain's pieces cover."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from resstream.arithmetic.obligations import noting
from resstream.arithmetic.solver import Formula
from resstream.arithmetic.unknowns import cases
from resstream.domains import Domain, Sizes
from resstream.domains.current import evaluating
from resstream.domains.trial import foreign
from resstream.prove.statement import known
from resstream.relations import Relation


def none_meets(
    domain: Domain, relation: Callable[[Any], Relation], sizes: Sizes, objects: Mapping[str, Any] | None
) -> bool:
    """Whether it is proved that no member meets a relation of rational objects; False where that is not proved.

    Nothing is proved of a domain of a user's own, whose pieces nobody vouches for, nor where the relation needs a value
    that may not exist. objects: those that the relation was stated of.
    """
    if any(foreign(domain)):
        return False
    try:
        return all(
            _none_of_a_piece(
                domain, relation, sizes, objects or {}, dict(zip(domain.options(), chosen, strict=True)), case
            )
            for chosen in itertools.product(*domain.options().values())
            for case in cases()
        )
    except Exception:  # the solver is not installed, or has no words for the domain or the relation: nothing is proved
        return False


def _none_of_a_piece(
    domain: Domain,
    relation: Callable[[Any], Relation],
    sizes: Sizes,
    objects: Mapping[str, Any],
    options: Mapping[str, str],
    case: Any,
) -> bool:
    from resstream.prove.solve import nothing_meets  # Z3 is an extra, and takes time to import

    formula = Formula(case)
    with noting() as owed, evaluating(objects):
        member = domain.own_piece(formula, sizes, options).object
        alternatives = known(relation(member), formula)
    return not owed and all(nothing_meets(formula, alternative) for alternative in alternatives)


__all__ = ["none_meets"]

"""A claim at fixed sizes as a theorem for Rocq: for all values of its objects' entries, and not for one instance.

The claim's own code is read in terms over variables. What the domains say of their entries is known, and so are the
hypotheses; what the code divides by, and the like, is part of what is to be proved. A set that takes several pieces,
and code that branches, give a theorem for each piece and each way.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from resstream.arithmetic.obligations import noting
from resstream.arithmetic.terms import VARIABLE, TermEntry, Terms, TermUnknowns
from resstream.arithmetic.unknowns import Case, cases
from resstream.claim import Claim
from resstream.claims import levels
from resstream.errors import NotExpressible, ResstreamError, Undecided
from resstream.falsify.formats.program import Program, in_order
from resstream.falsify.formats.rocq import LANGUAGE, SYMBOLS, plain_preamble
from resstream.falsify.formats.scripts import Script, script_of
from resstream.falsify.formats.trace import Fact, compared, conditions, identifier, pairs
from resstream.prove.answer import Answer
from resstream.prove.statement import objects_of, pieces_of
from resstream.relations import AnyOf, Comparison, Every, Relation

LARGEST = 4_000
"""How many operations the facts of one theorem may have."""


@dataclass(frozen=True)
class Theorem:
    """What is to be proved of one piece: that the owed facts and the goals follow from those that are known."""

    claim: Claim
    sizes: Mapping[str, int]
    options: Mapping[str, str]
    known: tuple[Fact, ...]
    owed: tuple[Fact, ...]
    goals: tuple[Fact, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All of them."""
        return (*self.known, *self.owed, *self.goals)


def theorems(
    claim: Claim, sizes: Mapping[str, int], options: Mapping[str, str], identity: bool = False
) -> tuple[Theorem, ...]:
    """The theorems of a claim at some sizes and options, one for each piece: together they say what the claim says.

    identity: the domains are to be read by formulas, which suits equations, and not by conditions.
    NotExpressible where terms have no words for it.
    """
    if not claim.fits(sizes):
        raise NotExpressible(f"the claim speaks of sizes with {claim.where}")
    system = Terms()
    try:
        found = tuple(_theorem(claim, sizes, options, system, case, identity) for case in cases())
    except NotExpressible:
        raise
    except Undecided as branch:
        raise NotExpressible(f"a branch on the values: {branch}") from None
    except Exception as failure:  # an algorithm of one number system only (a spectrum) meets entries it does not know
        said = str(failure) if isinstance(failure, ResstreamError) else f"{type(failure).__name__}: {failure}"
        raise NotExpressible(said) from failure
    return found


def _theorem(
    claim: Claim, sizes: Mapping[str, int], options: Mapping[str, str], system: Terms, case: Case, identity: bool
) -> Theorem:
    unknowns = TermUnknowns(case, solves=not identity)
    with system.working(), unknowns.deciding(), noting() as notes:
        objects = objects_of(pieces_of(claim, unknowns, sizes, options), sizes)
        for name, value in objects.items():
            _name_variables(name, value)
        made = len(notes)
        assumed = _assumed(claim.hypotheses(objects), system, unknowns) if claim.assuming else []
        given = len(notes)
        goals = _facts(claim.conclude(objects), system)
        known = [compared("known", entry, kind) for entry, kind in unknowns.known] + assumed
        known += conditions(notes[made:given], assumed)
        owed = tuple(conditions([*notes[:made], *notes[given:]], [*known, *goals]))
    found = Theorem(claim, dict(sizes), dict(options), tuple(known), owed, tuple(goals))
    operations = len(in_order([side for fact in found.facts for side in (fact.lhs, fact.rhs)]))
    if operations > LARGEST:
        raise NotExpressible(f"{operations:,} operations, which is more than {LARGEST:,}")
    return found


def _name_variables(name: str, value: Any) -> None:
    """Call the variables among the entries of an object as the object is."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        for index in np.ndindex(value.shape):
            entry = value[index]
            if isinstance(entry, TermEntry) and entry.operation == VARIABLE and entry.label and not entry.label[1]:
                entry.label = (identifier(name), index)
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            _name_variables(f"{name}_{place}", part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for part in dataclasses.fields(value):
            if part.name in vars(value):
                _name_variables(f"{name}_{part.name}", vars(value)[part.name])


def _assumed(relation: Relation, system: Terms, unknowns: TermUnknowns) -> list[Fact]:
    """The facts that a hypothesis states: of alternatives, those of each in a case of its own."""
    if isinstance(relation, Every):
        return [fact for part in relation.relations for fact in _assumed(part, system, unknowns)]
    if isinstance(relation, AnyOf):
        return _assumed(unknowns.among(relation.relations), system, unknowns)
    return _facts(relation, system)


def _facts(relation: Relation, system: Terms) -> list[Fact]:
    if isinstance(relation, Comparison):
        return [Fact("stated", lhs, relation.shown, rhs) for lhs, rhs in pairs(relation, system)]
    if isinstance(relation, Every):
        return [fact for part in relation.relations for fact in _facts(part, system)]
    raise NotExpressible(f"a relation of the kind {type(relation).__name__}")


# ---- certificates of proofs -------------------------------------------------


def proved_by(claim: Claim, answer: Answer) -> tuple[Theorem, ...]:
    """The theorems that say what a proof at small sizes says, of all its options and pieces.

    NotExpressible where terms have no words for them, or it is no proof.
    """
    if not answer.proved:
        raise NotExpressible(f"{answer}: only what is proved has a certificate")
    every = claim.option_values()
    values = {name: answer.covered[name][:1] if answer.covered else every[name] for name in every}
    found: list[Theorem] = []
    for choice in product(*values.values()):
        options = dict(zip(values, choice, strict=True))
        found += theorems(claim, answer.sizes, options, identity=answer.method == "algebra")
    return tuple(found)


def digest(found: Sequence[Theorem]) -> str:
    """By which statements are on record; how they are proved is no part of it."""
    lines = [line for piece in found for line in _piece(piece, None) if not line.startswith("Proof.")]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def with_kernel(claim: Claim, answer: Answer) -> Answer:
    """The answer, marked where it is on record that the kernel has accepted these very theorems."""
    record = levels.records().get(claim.id)
    if record is None or not record.digests or not answer.proved:
        return answer
    try:
        on_record = digest(proved_by(claim, answer)) in record.digests
    except NotExpressible:
        return answer
    return replace(answer, kernel=on_record)


# ---- as a file --------------------------------------------------------------

_TACTICS = """\
Ltac plain x := lazymatch x with context [Rmax _ _] => fail | context [Rabs _] => fail | _ => idtac end.
Ltac split_size x := plain x; let H := fresh "case" in
  destruct (Rcase_abs x) as [H | H]; [rewrite ?(Rabs_left x H) in * | rewrite ?(Rabs_right x H) in *].
Ltac split_maximum x y := plain x; plain y; let H := fresh "case" in
  destruct (Rle_lt_dec x y) as [H | H];
  [rewrite ?(Rmax_right x y H) in * | rewrite ?(Rmax_left x y (Rlt_le _ _ H)) in *].
Ltac split_case := match goal with
  | |- context [Rabs ?x] => split_size x
  | |- context [Rmax ?x ?y] => split_maximum x y
  | _ : context [Rabs ?x] |- _ => split_size x
  | _ : context [Rmax ?x ?y] |- _ => split_maximum x y
  end; try (exfalso; lra).
Lemma below_size : forall x, - x <= Rabs x.
Proof. intro x; rewrite <- Rabs_Ropp; apply Rle_abs. Qed.
Ltac forget_maxima := repeat match goal with
  | |- context [Rmax ?x ?y] => let m := fresh "m" in
    pose proof (Rmax_l x y); pose proof (Rmax_r x y); set (m := Rmax x y) in *; clearbody m
  | |- context [Rabs ?x] => let a := fresh "a" in
    pose proof (Rle_abs x); pose proof (below_size x); set (a := Rabs x) in *; clearbody a
  end.
Lemma square_sign : forall x, 0 <= x * x.
Proof. intro x; nra. Qed.
Ltac know P H := lazymatch goal with _ : P |- _ => fail | _ => pose proof H end.
Ltac know_squares := repeat match goal with |- context [?x * ?x] => know (0 <= x * x) (square_sign x) end.
Ltac linear := first [lra | know_squares; lra].
Ltac by_numbers := first [linear | nra | know_squares; nra].
Lemma exp_minus : forall x y, exp (x - y) = exp x / exp y.
Proof. intros x y; unfold Rminus, Rdiv; rewrite exp_plus, exp_Ropp; reflexivity. Qed.
Ltac name_functions :=
  rewrite ?Rminus_0_r, ?exp_minus, ?exp_plus, ?exp_Ropp in *;
  repeat match goal with
  | |- context [exp ?x] => let e := fresh "e" in pose proof (exp_pos x); set (e := exp x) in *; clearbody e
  | |- context [sqrt ?x] => let s := fresh "s" in let H := fresh in
    assert (H : 0 <= x) by by_numbers; pose proof (sqrt_pos x); pose proof (sqrt_sqrt x H);
    try (assert (0 < sqrt x) by (apply sqrt_lt_R0; linear)); set (s := sqrt x) in *; clearbody s
  end.
Ltac by_bounds := repeat apply Rmax_lub; try (apply Rabs_le; split); forget_maxima.
Ltac settle_inequality := first
  [ assumption | solve [linear] | solve [name_functions; linear] | solve [by_bounds; linear]
  | solve [name_functions; repeat split_case; linear]
  | solve [by_numbers] | solve [name_functions; by_numbers] | solve [by_bounds; by_numbers]
  | solve [name_functions; repeat split_case; by_numbers] ].
Ltac clear_quotients := repeat match goal with E : ?s * ?s = _ |- _ => progress field_simplify_eq in E; [] end.
Ltac by_ideal := clear_quotients; cbn [pow] in *; nsatz.
Ltac by_field := solve [ring | field; repeat split; settle_inequality | by_ideal].
Ltac settle_equality := first
  [ reflexivity | by_field
  | solve [name_functions; by_field]
  | solve [name_functions; field_simplify_eq; [by_ideal | repeat split; settle_inequality]]
  | solve [name_functions; repeat split_case; first [lra | by_field | nra]] ].
"""


def write(found: Sequence[Theorem]) -> str:
    """A file for Rocq, as text. Nothing is promised: only the kernel knows whether the tactics find the proofs."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[Theorem]) -> Iterator[str]:
    yield f"(** {found[0].claim.id} at fixed sizes, for all values of the entries. *)\n"
    yield plain_preamble("Nsatz") + _TACTICS
    names = [f"Piece_{place}" for place in range(1, len(found) + 1)]
    for name, piece in zip(names, found, strict=True):
        place = ", ".join(f"{key} = {value}" for key, value in [*piece.sizes.items(), *piece.options.items()])
        script = script_of(piece.claim.id, piece.sizes, piece.options)
        lemmas = script.lemmas if script else ""
        yield (f"(** {place} *)\n" if place else "") + f"Module {name}.\n{lemmas}Section For_all_values."
        yield from _piece(piece, script)
        yield f"End For_all_values.\nEnd {name}.\n"
    proof = "I"
    for name in reversed(names):
        proof = f"(conj {name}.holds {proof})"
    yield f"Definition all_pieces := {proof}.\nPrint Assumptions all_pieces."


def _piece(piece: Theorem, script: Script | None) -> Iterator[str]:
    program = Program.of(LANGUAGE, [], piece.facts)
    sides = [side for fact in piece.facts for side in (fact.lhs, fact.rhs)]
    variables = [node for node in in_order(sides) if node.operation == VARIABLE]
    for node in variables:
        assert node.label is not None, "a variable has a name"
        program.names[id(node)] = LANGUAGE.entry(*node.label)
    if variables:
        yield f"Variables {' '.join(program.names[id(node)] for node in variables)} : R."

    def stated(fact: Fact) -> str:
        return f"{program.name(fact.lhs)} {SYMBOLS.get(fact.symbol, fact.symbol)} {program.name(fact.rhs)}"

    def definitions(fact: Fact) -> Iterator[str]:
        for node in program.due(fact.lhs, fact.rhs):
            yield f"Definition {program.names[id(node)]} : R := {program.expression(node)}."

    for fact in piece.known:
        yield from definitions(fact)
    known = [stated(fact) for fact in piece.known]
    if known:
        yield "Definition known : Prop :=\n  " + " /\\\n  ".join(known) + "."
    follows = "known -> " if known else ""
    pattern = " & ".join(f"known_{place}" for place in range(1, len(known) + 1))
    opened = f"unfold known; intros {pattern if len(known) == 1 else '(' + pattern + ')'}. " if known else ""
    stated_facts = []
    for place, fact in enumerate([*piece.owed, *piece.goals], 1):
        yield from definitions(fact)
        stated_facts.append(stated(fact))
        yield f"Lemma fact_{place} : {follows}{stated_facts[-1]}."
        tactic = "settle_equality." if fact.symbol == "==" else "settle_inequality."
        if script and fact in piece.goals:
            tactic = script.proof
        yield f"Proof. {opened}{_unfolded(program)}{tactic} Qed."
    yield "Theorem holds : " + follows + " /\\\n  ".join(f"({each})" for each in stated_facts) + "."
    proofs = [f"(fact_{place}{' H' if known else ''})" for place in range(1, len(stated_facts) + 1)]
    proof = proofs[-1]
    for each in reversed(proofs[:-1]):
        proof = f"(conj {each} {proof})"
    yield f"Proof. exact {'(fun H => ' + proof + ')' if known else proof}. Qed."


def _unfolded(program: Program) -> str:
    """A tactic that unfolds every step that was named so far, the last first."""
    steps = [name for name in reversed(program.names.values()) if re.fullmatch(r"t\d+", name)]
    steps = [name for name in steps if name not in {program.names[key] for key in program.waiting}]
    return f"unfold {', '.join(steps)} in *. " if steps else ""

"""Proofs in Rocq, at fixed sizes, that the general tactics do not find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """A proof that the general tactics do not find: lemmas before it, and the tactics for its one goal."""

    lemmas: str
    proof: str


_WEIGH = """\
Lemma weigh : forall c y h, y <= h -> - y <= h -> c * y <= Rabs c * h /\\ - (c * y) <= Rabs c * h.
Proof. intros c y h H1 H2; unfold Rabs; destruct Rcase_abs; split; nra. Qed.
Ltac of_size := unfold Rabs; destruct Rcase_abs; lra.
Ltac in_maximum := lazymatch goal with
  | |- _ <= Rmax ?x ?y =>
    first [apply Rle_refl | apply Rle_trans with y; [in_maximum | apply Rmax_r]
          | apply Rle_trans with x; [in_maximum | apply Rmax_l]]
  | |- _ => apply Rle_refl
  end.
"""


def contraction(n: int, token: str = "X_{}_1") -> Script:
    """Theorem 1 (i) for n tokens on the line, which are called so in the norm's coordinates.

    All tokens lie within half the diameter D of some m. A difference of two rows of AX is the sum of c_k (x_k - m), c
    the difference of two rows of A, as those sum to one; each term is at most |c_k| D/2.
    """
    tokens = range(1, n + 1)
    called = {k: token.format(k) for k in tokens}
    pairs = [(i, i + k) for k in range(1, n) for i in range(1, n - k + 1)]
    x = [f"x{k}" for k in tokens]
    close = " -> ".join(f"x{j} - x{i} <= D /\\ x{i} - x{j} <= D" for i, j in pairs)
    within = " /\\ ".join(f"(x{k} - m <= D / 2 /\\ m - x{k} <= D / 2)" for k in tokens)
    middle = f"({_fold('Rmax', x)} + {_fold('Rmin', x)}) / 2"
    lemmas = _WEIGH + (
        f"Lemma midrange : forall D {' '.join(x)}, {close} -> exists m, {within}.\n"
        f"Proof. intros; exists ({middle}); unfold Rmax, Rmin; repeat destruct Rle_dec; repeat split; lra. Qed.\n"
    )
    proof = ["lazymatch goal with |- _ <= ?T / 2 * ?D =>"]
    for i, j in pairs:
        proof.append(
            f"  assert (D_{i}_{j} : {called[j]} - {called[i]} <= D /\\ {called[i]} - {called[j]} <= D)\n"
            f"    by (split; apply Rle_trans with (Rabs ({called[j]} - {called[i]}));\n"
            "        [of_size | in_maximum | of_size | in_maximum]);"
        )
        total = _sum([f"Rabs (A_{j}_{k} - A_{i}_{k})" for k in tokens])
        proof.append(f"  assert (T_{i}_{j} : {total} <= T) by in_maximum;")
    hypotheses = " ".join(f"D_{i}_{j}" for i, j in pairs)
    pattern = f"[L_{n} U_{n}]"
    for k in range(n - 1, 0, -1):
        pattern = f"[[L_{k} U_{k}] {pattern}]"
    proof.append(f"  destruct (midrange D {' '.join(called.values())} {hypotheses}) as [m {pattern}];")
    proof.append("  assert (D_0 : 0 <= D / 2) by lra;")
    proof.append("  repeat apply Rmax_lub;")
    goals = []
    for i, j in pairs:
        weighed = "; ".join(
            f"destruct (weigh (A_{j}_{k} - A_{i}_{k}) ({called[k]} - m) (D / 2)) as [P_{k} N_{k}]; [lra | lra |]"
            for k in tokens
        )
        rows = [_sum([f"A_{row}_{k}" for k in tokens]) for row in (j, i)]
        sums = [f"known_{row * (n + 1)}" for row in (j, i)]
        goals.append(
            f"{weighed};\n    assert (Z : ({rows[0]} - ({rows[1]})) * m = 0) by (rewrite {', '.join(sums)}; ring);\n"
            f"    pose proof (Rmult_le_compat_r (D / 2) _ _ D_0 T_{i}_{j}); apply Rabs_le; lra"
        )
    proof.append("  [" + "\n  | ".join(goals) + "]" if len(goals) > 1 else "  " + goals[0])
    return Script(lemmas, "\n".join(proof) + "\n  end.")


def script_of(claim: str, sizes: Mapping[str, int], options: Mapping[str, str]) -> Script | None:
    """The script of a claim at some sizes and options; None where the general tactics are to find the proof."""
    if claim == "contraction.diameter" and sizes["d"] == 1 and sizes["n"] > 1:
        changed = options["norm.basis"] == "changed"
        return contraction(sizes["n"], "(X_{}_1 * norm_basis_1_1)" if changed else "X_{}_1")
    return None


def _fold(function: str, values: list[str]) -> str:
    result = values[-1]
    for value in reversed(values[:-1]):
        result = f"({function} {value} {result})"
    return result


def _sum(values: list[str]) -> str:
    result = values[0]
    for value in values[1:]:
        result = f"({result} + {value})"
    return result

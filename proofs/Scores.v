(** Theorem 1 (ii): scores of bounded range contract; and tau is the best constant of Theorem 1 (i). *)

From Coq Require Import Reals Lra Lia.
Require Import Sums Seminorms Contraction.
Open Scope R_scope.

Definition overlap (n : nat) (p q : vector) : R := sum n (fun k => Rmin (p k) (q k)).

(** Definition 2, both forms: half the l1 distance of two distributions is one minus their overlap. *)
Theorem two_forms : forall n p q, sum n p = 1 -> sum n q = 1 -> half_l1 n (subtract p q) = 1 - overlap n p q.
Proof.
  intros n p q Hp Hq; unfold half_l1, subtract, overlap.
  rewrite (sum_ext n _ (fun k => p k + q k - 2 * Rmin (p k) (q k))).
  - rewrite sum_minus, sum_plus, sum_scale; lra.
  - intros k _; unfold Rabs, Rmin; destruct Rcase_abs, Rle_dec; lra.
Qed.

Definition softmax (n : nat) (S : matrix) : matrix := fun i k => exp (S i k) / sum n (fun l => exp (S i l)).

Lemma sum_const : forall n c, sum n (fun _ => c) = INR n * c.
Proof.
  induction n as [|n IH]; intros c; [simpl; lra|].
  rewrite S_INR; simpl; rewrite IH; lra.
Qed.

Lemma sum_exp_pos : forall n s, (0 < n)%nat -> 0 < sum n (fun l => exp (s l)).
Proof.
  intros n s Hn.
  apply Rlt_le_trans with (exp (s O)); [apply exp_pos|].
  apply (term_le_sum n (fun l => exp (s l))); [intros; left; apply exp_pos | exact Hn].
Qed.

Theorem softmax_row_stochastic : forall m n S, (0 < n)%nat -> row_stochastic m n (softmax n S).
Proof.
  intros m n S Hn i _; unfold softmax; split.
  - intros k _; left; apply Rdiv_lt_0_compat; [apply exp_pos | now apply sum_exp_pos].
  - unfold Rdiv; rewrite sum_scale_r; apply Rinv_r, Rgt_not_eq; now apply sum_exp_pos.
Qed.

(** Every row is a probability vector, in which no weight is zero. *)
Corollary softmax_positive_stochastic : forall m n S, (0 < n)%nat ->
  row_stochastic m n (softmax n S) /\ forall i k, 0 < softmax n S i k.
Proof.
  intros m n S Hn; split; [now apply softmax_row_stochastic|].
  intros i k; apply Rdiv_lt_0_compat; [apply exp_pos | now apply sum_exp_pos].
Qed.

Definition rows_range_at_most (m n : nat) (S : matrix) (r : R) : Prop :=
  forall i k l, (i < m)%nat -> (k < n)%nat -> (l < n)%nat -> S i k - S i l <= r.

(** No weight is below exp(-r)/n. *)
Lemma softmax_from_below : forall m n S r i k,
  rows_range_at_most m n S r -> (i < m)%nat -> (k < n)%nat -> exp (- r) / INR n <= softmax n S i k.
Proof.
  intros m n S r i k Hr Hi Hk; unfold softmax.
  assert (Hn : 0 < INR n) by (apply lt_0_INR; lia).
  assert (Hsum : sum n (fun l => exp (S i l)) <= INR n * (exp r * exp (S i k))).
  { rewrite <- sum_const; apply sum_le; intros l Hl; rewrite <- exp_plus.
    assert (H : S i l <= r + S i k) by (specialize (Hr i l k Hi Hl Hk); lra).
    destruct H as [H| ->]; [left; now apply exp_increasing | apply Rle_refl]. }
  apply Rmult_le_reg_r with (sum n (fun l => exp (S i l))); [apply sum_exp_pos; lia|].
  unfold Rdiv at 2; rewrite Rmult_assoc, Rinv_l by (apply Rgt_not_eq, sum_exp_pos; lia).
  rewrite Rmult_1_r.
  apply Rle_trans with (exp (- r) / INR n * (INR n * (exp r * exp (S i k)))).
  - apply Rmult_le_compat_l; [left; apply Rdiv_lt_0_compat; [apply exp_pos | exact Hn] | exact Hsum].
  - right; replace (exp (- r) / INR n * (INR n * (exp r * exp (S i k)))) with (exp (- r) * exp r * exp (S i k))
      by (field; lra).
    rewrite <- exp_plus, Rplus_opp_l, exp_0; ring.
Qed.

(** tau(softmax S) <= 1 - exp(-r), for scores whose rows have range at most r >= 0. *)
Theorem scores_contract : forall m n S r,
  (0 < n)%nat -> 0 <= r -> rows_range_at_most m n S r -> dobrushin m n (softmax n S) <= 1 - exp (- r).
Proof.
  intros m n S r Hn Hr0 Hr.
  apply largest_pair_le.
  - assert (exp (- r) <= exp 0); [|rewrite exp_0 in H; lra].
    destruct Hr0 as [Hr0| <-]; [left; apply exp_increasing; lra | rewrite Ropp_0; apply Rle_refl].
  - intros i j Hi Hj.
    destruct (softmax_row_stochastic m n S Hn i Hi) as [_ Si], (softmax_row_stochastic m n S Hn j Hj) as [_ Sj].
    rewrite two_forms by assumption.
    assert (exp (- r) <= overlap n (softmax n S i) (softmax n S j)); [|lra].
    replace (exp (- r)) with (sum n (fun _ => exp (- r) / INR n))
      by (rewrite sum_const; field; apply Rgt_not_eq, lt_0_INR; exact Hn).
    apply sum_le; intros k Hk; apply Rmin_glb; now apply softmax_from_below with m.
Qed.

(** ** tau is the best constant, already for clouds of zeros and ones on the line *)

Definition on_the_line : vector -> R := max_norm 1.

Theorem dobrushin_is_best : forall m n A c,
  row_stochastic m n A -> 0 <= c ->
  (forall X, (forall k j, X k j = 0 \/ X k j = 1) ->
     diameter on_the_line m (product n A X) <= c * diameter on_the_line n X) ->
  dobrushin m n A <= c.
Proof.
  intros m n A c HA Hc Hbest; apply largest_pair_le; [exact Hc|]; intros i j Hi Hj.
  destruct (HA i Hi) as [_ Si], (HA j Hj) as [_ Sj].
  set (X := (fun k _ => if Rle_dec (A j k) (A i k) then 1 else 0) : matrix).
  assert (H01 : forall k l, X k l = 0 \/ X k l = 1) by (intros k l; unfold X; destruct Rle_dec; tauto).
  assert (HX : diameter on_the_line n X <= 1).
  { apply largest_pair_le; [lra|]; intros k l _ _; apply maximum_le; [lra|]; intros e _; unfold subtract.
    destruct (H01 k e) as [->| ->], (H01 l e) as [->| ->]; unfold Rabs; destruct Rcase_abs; lra. }
  assert (Hpair : half_l1 n (subtract (A i) (A j)) = subtract (product n A X i) (product n A X j) O).
  { rewrite <- (sum_u n (A i) (A j)) by (rewrite Si, Sj; reflexivity).
    unfold subtract, product, combine; rewrite <- sum_minus; apply sum_ext; intros k _.
    unfold X, Rmax; destruct (Rle_dec (A i k - A j k) 0), (Rle_dec (A j k) (A i k)); lra. }
  apply Rle_trans with (diameter on_the_line m (product n A X)).
  - rewrite Hpair.
    apply Rle_trans with (on_the_line (subtract (product n A X i) (product n A X j))).
    + eapply Rle_trans; [apply Rle_abs|].
      refine (le_maximum 1 (fun k => Rabs (subtract (product n A X i) (product n A X j) k)) 0 _); lia.
    + exact (le_largest_pair m (fun i j => on_the_line (subtract (product n A X i) (product n A X j))) i j Hi Hj).
  - eapply Rle_trans; [now apply Hbest|].
    rewrite <- (Rmult_1_r c) at 2; now apply Rmult_le_compat_l.
Qed.

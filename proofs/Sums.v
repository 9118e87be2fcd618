(** Finite sums and maxima of real numbers, indexed by 0, ..., n - 1. *)

From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => sum m f + f m
  end.

Lemma sum_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof.
  induction n as [|n IH]; intros f g H; simpl; [reflexivity|].
  rewrite (IH f g), (H n); [reflexivity | lia | intros; apply H; lia].
Qed.

Lemma sum_le : forall n f g, (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros f g H; simpl; [lra|].
  assert (sum n f <= sum n g) by (apply IH; intros; apply H; lia).
  assert (f n <= g n) by (apply H; lia).
  lra.
Qed.

Lemma sum_zero : forall n, sum n (fun _ => 0) = 0.
Proof. induction n as [|n IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_nonneg : forall n f, (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros n f H. rewrite <- (sum_zero n). now apply sum_le. Qed.

Lemma sum_plus : forall n f g, sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; intros f g; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_minus : forall n f g, sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n as [|n IH]; intros f g; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_scale : forall n c f, sum n (fun i => c * f i) = c * sum n f.
Proof. induction n as [|n IH]; intros c f; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_scale_r : forall n c f, sum n (fun i => f i * c) = sum n f * c.
Proof. induction n as [|n IH]; intros c f; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_swap : forall n m (f : nat -> nat -> R),
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n as [|n IH]; intros m f; simpl.
  - symmetry; apply sum_zero.
  - now rewrite IH, sum_plus.
Qed.

Lemma sum_abs : forall n f, Rabs (sum n f) <= sum n (fun i => Rabs (f i)).
Proof.
  induction n as [|n IH]; intros f; simpl.
  - rewrite Rabs_R0; lra.
  - eapply Rle_trans; [apply Rabs_triang|]. specialize (IH f). lra.
Qed.

Lemma term_le_sum : forall n f, (forall i, (i < n)%nat -> 0 <= f i) -> forall i, (i < n)%nat -> f i <= sum n f.
Proof.
  induction n as [|n IH]; intros f H i Hi; simpl; [lia|].
  assert (0 <= sum n f) by (apply sum_nonneg; intros; apply H; lia).
  assert (0 <= f n) by (apply H; lia).
  destruct (Nat.eq_dec i n) as [->|]; [lra|].
  assert (f i <= sum n f) by (apply IH; [intros; apply H; lia | lia]).
  lra.
Qed.

(** A sum of nonnegative terms that is zero has only zero terms. *)
Lemma sum_zero_terms : forall n f,
  (forall i, (i < n)%nat -> 0 <= f i) -> sum n f = 0 -> forall i, (i < n)%nat -> f i = 0.
Proof.
  intros n f H Hsum i Hi.
  assert (0 <= f i) by now apply H.
  assert (f i <= sum n f) by now apply term_le_sum.
  lra.
Qed.

(** The largest of f 0, ..., f (n - 1) and 0: for what is nonnegative, the maximum. *)
Fixpoint maximum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => Rmax (maximum m f) (f m)
  end.

Lemma le_maximum : forall n f i, (i < n)%nat -> f i <= maximum n f.
Proof.
  induction n as [|n IH]; intros f i Hi; simpl; [lia|].
  destruct (Nat.eq_dec i n) as [->|]; [apply Rmax_r|].
  eapply Rle_trans; [apply IH; lia | apply Rmax_l].
Qed.

Lemma maximum_nonneg : forall n f, 0 <= maximum n f.
Proof.
  induction n as [|n IH]; intros f; simpl; [lra|].
  eapply Rle_trans; [apply IH | apply Rmax_l].
Qed.

Lemma maximum_le : forall n f c, 0 <= c -> (forall i, (i < n)%nat -> f i <= c) -> maximum n f <= c.
Proof.
  induction n as [|n IH]; intros f c Hc H; simpl; [exact Hc|].
  apply Rmax_lub; [apply IH; [exact Hc | intros; apply H; lia] | apply H; lia].
Qed.

(** The maximum is one of the values, or there is nothing above 0. *)
Lemma maximum_attained : forall n f, maximum n f = 0 \/ exists i, (i < n)%nat /\ maximum n f = f i.
Proof.
  induction n as [|n IH]; intros f; simpl; [now left|].
  unfold Rmax; destruct (Rle_dec (maximum n f) (f n)).
  - right; exists n; split; [lia | reflexivity].
  - destruct (IH f) as [H|[i [Hi H]]]; [now left|].
    right; exists i; split; [lia | exact H].
Qed.

Lemma maximum_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) -> maximum n f = maximum n g.
Proof.
  induction n as [|n IH]; intros f g H; simpl; [reflexivity|].
  rewrite (IH f g), (H n); [reflexivity | lia | intros; apply H; lia].
Qed.

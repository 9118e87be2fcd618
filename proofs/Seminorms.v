(** Vectors, matrices and seminorms of R^d: a vector is a function of which the first d values count. *)

From Coq Require Import Reals Lra Lia.
Require Import Sums.
Open Scope R_scope.

Definition vector := nat -> R.
Definition matrix := nat -> nat -> R.

Definition add (x y : vector) : vector := fun k => x k + y k.
Definition subtract (x y : vector) : vector := fun k => x k - y k.
Definition scale (c : R) (x : vector) : vector := fun k => c * x k.

(** The row vector w times the n rows of X: the combination of them with weights w. *)
Definition combine (n : nat) (w : vector) (X : matrix) : vector := fun k => sum n (fun i => w i * X i k).

(** The product AX of a matrix with n columns and one with n rows. *)
Definition product (n : nat) (A X : matrix) : matrix := fun i => combine n (A i) X.

Record seminorm (d : nat) (N : vector -> R) : Prop := {
  respects : forall x y, (forall k, (k < d)%nat -> x k = y k) -> N x = N y;
  triangle : forall x y, N (add x y) <= N x + N y;
  homogeneous : forall c x, N (scale c x) = Rabs c * N x
}.

Section Any_seminorm.

Variables (d : nat) (N : vector -> R).
Hypothesis HN : seminorm d N.

Lemma seminorm_zero : forall x, (forall k, (k < d)%nat -> x k = 0) -> N x = 0.
Proof.
  intros x Hx.
  rewrite (respects d N HN x (scale 0 x)).
  - rewrite (homogeneous d N HN), Rabs_R0; ring.
  - intros k Hk; unfold scale; rewrite Hx by exact Hk; ring.
Qed.

Lemma seminorm_nonneg : forall x, 0 <= N x.
Proof.
  intros x.
  assert (H := triangle d N HN x (scale (-1) x)).
  rewrite (homogeneous d N HN), (seminorm_zero (add x (scale (-1) x))) in H.
  - rewrite Rabs_left in H by lra; lra.
  - intros k _; unfold add, scale; ring.
Qed.

Lemma seminorm_combine : forall n w X, N (combine n w X) <= sum n (fun i => Rabs (w i) * N (X i)).
Proof.
  induction n as [|n IH]; intros w X.
  - rewrite seminorm_zero; [simpl; lra | reflexivity].
  - simpl.
    rewrite (respects d N HN _ (add (combine n w X) (scale (w n) (X n)))) by reflexivity.
    eapply Rle_trans; [apply (triangle d N HN)|].
    rewrite (homogeneous d N HN).
    specialize (IH w X); lra.
Qed.

Lemma seminorm_combine_nonneg : forall n w X c,
  (forall i, (i < n)%nat -> 0 <= w i) -> (forall i, (i < n)%nat -> N (X i) <= c) ->
  N (combine n w X) <= sum n w * c.
Proof.
  intros n w X c Hw Hc.
  eapply Rle_trans; [apply seminorm_combine|].
  rewrite <- sum_scale_r.
  apply sum_le; intros i Hi.
  rewrite Rabs_pos_eq by now apply Hw.
  apply Rmult_le_compat_l; [now apply Hw | now apply Hc].
Qed.

End Any_seminorm.

(** ** The seminorms that are used by name *)

Definition max_norm (d : nat) (x : vector) : R := maximum d (fun k => Rabs (x k)).
Definition half_l1 (d : nat) (x : vector) : R := sum d (fun k => Rabs (x k)) / 2.

Lemma max_norm_seminorm : forall d, seminorm d (max_norm d).
Proof.
  intros d; split; unfold max_norm, add, scale.
  - intros x y H; apply maximum_ext; intros k Hk; now rewrite H.
  - intros x y; apply maximum_le.
    + apply Rplus_le_le_0_compat; apply maximum_nonneg.
    + intros k Hk; eapply Rle_trans; [apply Rabs_triang|].
      apply Rplus_le_compat;
        [exact (le_maximum d (fun k => Rabs (x k)) k Hk) | exact (le_maximum d (fun k => Rabs (y k)) k Hk)].
  - intros c x; apply Rle_antisym.
    + apply maximum_le.
      * apply Rmult_le_pos; [apply Rabs_pos | apply maximum_nonneg].
      * intros k Hk; rewrite Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|].
        exact (le_maximum d (fun k => Rabs (x k)) k Hk).
    + destruct (maximum_attained d (fun k => Rabs (x k))) as [H|[k [Hk H]]]; rewrite H.
      * rewrite Rmult_0_r; apply maximum_nonneg.
      * rewrite <- Rabs_mult; exact (le_maximum d (fun k => Rabs (c * x k)) k Hk).
Qed.

Lemma half_l1_seminorm : forall d, seminorm d (half_l1 d).
Proof.
  intros d; split; unfold half_l1, add, scale.
  - intros x y H; f_equal; apply sum_ext; intros k Hk; now rewrite H.
  - intros x y.
    assert (sum d (fun k => Rabs (x k + y k)) <= sum d (fun k => Rabs (x k)) + sum d (fun k => Rabs (y k))).
    { rewrite <- sum_plus; apply sum_le; intros; apply Rabs_triang. }
    lra.
  - intros c x.
    rewrite (sum_ext d _ (fun k => Rabs c * Rabs (x k))) by (intros; apply Rabs_mult).
    rewrite sum_scale; lra.
Qed.

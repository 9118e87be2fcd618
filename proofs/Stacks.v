(** Layers with a value map, Theorem 1 (iii) for stacks of them, and Proposition 2 for stacks with the skip.

    The operator norm of W in a seminorm N is the least c >= 0 with N (x W) <= c N x for every row vector x. *)

From Coq Require Import Reals Lra Lia.
Require Import Sums Seminorms Contraction.
Open Scope R_scope.

Definition stretches_at_most (d : nat) (N : vector -> R) (W : matrix) (c : R) : Prop :=
  0 <= c /\ forall x, N (combine d x W) <= c * N x.

Definition operator_norm (d : nat) (N : vector -> R) (W : matrix) (c : R) : Prop :=
  stretches_at_most d N W c /\ forall c', stretches_at_most d N W c' -> c <= c'.

Fixpoint multiply (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 1
  | S m => f m * multiply m f
  end.

Definition sum_of (X Y : matrix) : matrix := fun i => add (X i) (Y i).

(** X_{l+1} = A_l X_l W_l: n tokens of d dimensions. *)
Fixpoint pure_stack (n d : nat) (As Ws : nat -> matrix) (X : matrix) (L : nat) : matrix :=
  match L with
  | O => X
  | S l => product n (As l) (product d (pure_stack n d As Ws X l) (Ws l))
  end.

(** X_{l+1} = X_l + A_l X_l W_l. *)
Fixpoint skip_stack (n d : nat) (As Ws : nat -> matrix) (X : matrix) (L : nat) : matrix :=
  match L with
  | O => X
  | S l => let before := skip_stack n d As Ws X l in sum_of before (product n (As l) (product d before (Ws l)))
  end.

Section One_seminorm.

Variables (d : nat) (N : vector -> R).
Hypothesis HN : seminorm d N.

Lemma value_map : forall n W c X,
  stretches_at_most d N W c -> diameter N n (product d X W) <= c * diameter N n X.
Proof.
  intros n W c X [Hc HW].
  apply largest_pair_le; [apply Rmult_le_pos; [exact Hc | apply largest_pair_nonneg]|].
  intros i j Hi Hj; unfold product.
  rewrite (respects d N HN _ (combine d (subtract (X i) (X j)) W)).
  - eapply Rle_trans; [apply HW|]; apply Rmult_le_compat_l; [exact Hc|].
    exact (le_largest_pair n (fun i j => N (subtract (X i) (X j))) i j Hi Hj).
  - intros k _; unfold subtract, combine; rewrite <- sum_minus; apply sum_ext; intros; ring.
Qed.

(** diam(AXW) <= tau(A) ||W|| diam(X). *)
Theorem layer_contracts : forall m n A W c X,
  row_stochastic m n A -> stretches_at_most d N W c ->
  diameter N m (product n A (product d X W)) <= dobrushin m n A * c * diameter N n X.
Proof.
  intros m n A W c X HA HW.
  eapply Rle_trans; [now apply diameter_contracts with d|].
  rewrite Rmult_assoc; apply Rmult_le_compat_l; [apply largest_pair_nonneg | now apply value_map].
Qed.

(** Theorem 1 (iii): diam(X_L) <= prod_l tau(A_l) ||W_l|| diam(X_0). *)
Theorem stack_contracts : forall n As Ws c X L,
  (forall l, (l < L)%nat -> row_stochastic n n (As l)) ->
  (forall l, (l < L)%nat -> stretches_at_most d N (Ws l) (c l)) ->
  diameter N n (pure_stack n d As Ws X L) <= multiply L (fun l => dobrushin n n (As l) * c l) * diameter N n X.
Proof.
  intros n As Ws c X L HA HW; induction L as [|L IH]; simpl; [lra|].
  destruct (HW L) as [Hc _]; [lia|].
  eapply Rle_trans; [apply layer_contracts; [apply HA; lia | apply HW; lia]|].
  rewrite (Rmult_assoc (dobrushin n n (As L) * c L)).
  apply Rmult_le_compat_l; [apply Rmult_le_pos; [apply largest_pair_nonneg | exact Hc]|].
  apply IH; intros l Hl; [apply HA | apply HW]; lia.
Qed.

(** Proposition 2, pair by pair: none loses more than tau(A) ||W|| diam(X). *)
Theorem skip_keeps_pairs : forall n A W c X i j,
  row_stochastic n n A -> stretches_at_most d N W c -> (i < n)%nat -> (j < n)%nat ->
  let Y := sum_of X (product n A (product d X W)) in
  N (subtract (X i) (X j)) - dobrushin n n A * c * diameter N n X <= N (subtract (Y i) (Y j)).
Proof.
  intros n A W c X i j HA HW Hi Hj Y.
  set (Z := product n A (product d X W)) in Y.
  assert (HZ : diameter N n Z <= dobrushin n n A * c * diameter N n X) by now apply layer_contracts.
  assert (Hji := le_largest_pair n (fun i j => N (subtract (Z i) (Z j))) j i Hj Hi).
  fold (diameter N n Z) in Hji; simpl in Hji.
  assert (H := triangle d N HN (subtract (Y i) (Y j)) (subtract (Z j) (Z i))).
  rewrite (respects d N HN _ (subtract (X i) (X j))) in H
    by (intros k _; unfold Y, sum_of, add, subtract; ring).
  lra.
Qed.

(** Proposition 2, one layer: diam(X + AXW) >= (1 - tau(A) ||W||) diam(X). *)
Theorem skip_keeps : forall n A W c X,
  row_stochastic n n A -> stretches_at_most d N W c ->
  (1 - dobrushin n n A * c) * diameter N n X <= diameter N n (sum_of X (product n A (product d X W))).
Proof.
  intros n A W c X HA HW.
  set (Y := sum_of X (product n A (product d X W))).
  assert (HX := largest_pair_nonneg n (fun i j => N (subtract (X i) (X j)))).
  assert (HY := largest_pair_nonneg n (fun i j => N (subtract (Y i) (Y j)))).
  fold (diameter N n X) in HX; fold (diameter N n Y) in HY.
  assert (Hlost : 0 <= dobrushin n n A * c * diameter N n X).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply largest_pair_nonneg | apply HW] | exact HX]. }
  assert (diameter N n X <= diameter N n Y + dobrushin n n A * c * diameter N n X); [|lra].
  apply largest_pair_le; [lra|]; intros i j Hi Hj.
  assert (H := skip_keeps_pairs n A W c X i j HA HW Hi Hj); fold Y in H; simpl in H.
  assert (Hij := le_largest_pair n (fun i j => N (subtract (Y i) (Y j))) i j Hi Hj).
  fold (diameter N n Y) in Hij; simpl in Hij; lra.
Qed.

(** Proposition 2 for a stack, no factor negative: diam(X_L) >= prod_l (1 - tau(A_l) ||W_l||) diam(X_0). *)
Theorem skip_stack_keeps : forall n As Ws c X L,
  (forall l, (l < L)%nat -> row_stochastic n n (As l)) ->
  (forall l, (l < L)%nat -> stretches_at_most d N (Ws l) (c l)) ->
  (forall l, (l < L)%nat -> dobrushin n n (As l) * c l <= 1) ->
  multiply L (fun l => 1 - dobrushin n n (As l) * c l) * diameter N n X <= diameter N n (skip_stack n d As Ws X L).
Proof.
  intros n As Ws c X L HA HW Hstep; induction L as [|L IH]; simpl; [lra|].
  eapply Rle_trans; [|apply (skip_keeps n (As L) (Ws L) (c L)); [apply HA; lia | apply HW; lia]].
  rewrite Rmult_assoc; apply Rmult_le_compat_l.
  - assert (dobrushin n n (As L) * c L <= 1) by (apply Hstep; lia); lra.
  - apply IH; intros l Hl; [apply HA | apply HW | apply Hstep]; lia.
Qed.

End One_seminorm.

(** ** The operator norm in the maximum norm is the largest absolute column sum *)

Definition largest_column_sum (d : nat) (W : matrix) : R := maximum d (fun j => sum d (fun i => Rabs (W i j))).

Theorem max_operator_norm : forall d W, operator_norm d (max_norm d) W (largest_column_sum d W).
Proof.
  intros d W; split; [split|].
  - apply maximum_nonneg.
  - intros x; apply maximum_le.
    + apply Rmult_le_pos; apply maximum_nonneg.
    + intros j Hj; unfold combine; eapply Rle_trans; [apply sum_abs|].
      apply Rle_trans with (sum d (fun i => Rabs (W i j)) * max_norm d x).
      * rewrite <- sum_scale_r; apply sum_le; intros i Hi.
        rewrite Rabs_mult, Rmult_comm; apply Rmult_le_compat_l; [apply Rabs_pos|].
        exact (le_maximum d (fun k => Rabs (x k)) i Hi).
      * apply Rmult_le_compat_r; [apply maximum_nonneg|].
        exact (le_maximum d (fun j => sum d (fun i => Rabs (W i j))) j Hj).
  - (* A column's sum is reached by the vector of its signs. *)
    intros c [Hc HW]; apply maximum_le; [exact Hc|]; intros j Hj.
    set (x := fun i => if Rle_dec 0 (W i j) then 1 else -1).
    assert (Hx : max_norm d x <= 1).
    { apply maximum_le; [lra|]; intros i _; unfold x; destruct Rle_dec; [rewrite Rabs_R1 | rewrite Rabs_left]; lra. }
    assert (Hj' := le_maximum d (fun k => Rabs (combine d x W k)) j Hj); simpl in Hj'.
    assert (HxW := HW x); unfold max_norm at 1 in HxW.
    assert (sum d (fun i => Rabs (W i j)) = combine d x W j).
    { apply sum_ext; intros i _; unfold x; destruct Rle_dec; [rewrite Rabs_pos_eq | rewrite Rabs_left]; lra. }
    assert (combine d x W j <= Rabs (combine d x W j)) by apply Rle_abs.
    assert (c * max_norm d x <= c * 1) by now apply Rmult_le_compat_l.
    lra.
Qed.

(** Theorem 1 (iii) in the maximum norm, with nothing left to choose. *)
Corollary stack_contracts_max_norm : forall n d As Ws X L,
  (forall l, (l < L)%nat -> row_stochastic n n (As l)) ->
  diameter (max_norm d) n (pure_stack n d As Ws X L) <=
  multiply L (fun l => dobrushin n n (As l) * largest_column_sum d (Ws l)) * diameter (max_norm d) n X.
Proof.
  intros; apply stack_contracts; [apply max_norm_seminorm | assumption | intros; apply max_operator_norm].
Qed.

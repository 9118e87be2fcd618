(** Theorem 1 (i): a row-stochastic matrix shrinks the diameter at least by its Dobrushin coefficient.

    For all sizes: A is m x n, X is n x d, over the real numbers, in any seminorm of R^d. *)

From Coq Require Import Reals Lra Lia.
Require Import Sums Seminorms.
Open Scope R_scope.

Definition row_stochastic (m n : nat) (A : matrix) : Prop :=
  forall i, (i < m)%nat -> (forall k, (k < n)%nat -> 0 <= A i k) /\ sum n (A i) = 1.

(** The largest value over all pairs of 0, ..., n - 1. *)
Definition largest_pair (n : nat) (f : nat -> nat -> R) : R := maximum n (fun i => maximum n (fun j => f i j)).

(** Dobrushin's coefficient: half the largest l1 distance of two rows. *)
Definition dobrushin (m n : nat) (A : matrix) : R :=
  largest_pair m (fun i j => half_l1 n (subtract (A i) (A j))).

(** The largest distance of two of the n rows (tokens) of X. *)
Definition diameter (N : vector -> R) (n : nat) (X : matrix) : R :=
  largest_pair n (fun i j => N (subtract (X i) (X j))).

Lemma le_largest_pair : forall n f i j, (i < n)%nat -> (j < n)%nat -> f i j <= largest_pair n f.
Proof.
  intros n f i j Hi Hj; unfold largest_pair.
  eapply Rle_trans; [exact (le_maximum n (f i) j Hj)|].
  exact (le_maximum n (fun i => maximum n (f i)) i Hi).
Qed.

Lemma largest_pair_le : forall n f c,
  0 <= c -> (forall i j, (i < n)%nat -> (j < n)%nat -> f i j <= c) -> largest_pair n f <= c.
Proof.
  intros n f c Hc H; apply maximum_le; [exact Hc|]; intros i Hi.
  apply maximum_le; [exact Hc|]; intros j Hj; now apply H.
Qed.

Lemma largest_pair_nonneg : forall n f, 0 <= largest_pair n f.
Proof. intros; apply maximum_nonneg. Qed.

(** ** Two rows *)

Section Two_rows.

(** p and q are two rows with one sum; u and v are the parts of p - q above and below zero. *)
Variables (n : nat) (p q : vector).
Hypothesis same_sum : sum n p = sum n q.

Let u : vector := fun k => Rmax (p k - q k) 0.
Let v : vector := fun k => Rmax (q k - p k) 0.

Lemma u_nonneg : forall k, 0 <= u k.
Proof. intros k; apply Rmax_r. Qed.

Lemma v_nonneg : forall k, 0 <= v k.
Proof. intros k; apply Rmax_r. Qed.

Lemma difference : forall k, u k - v k = p k - q k.
Proof. intros k; unfold u, v, Rmax; destruct (Rle_dec (p k - q k) 0), (Rle_dec (q k - p k) 0); lra. Qed.

Lemma size_of_difference : forall k, u k + v k = Rabs (p k - q k).
Proof.
  intros k; unfold u, v, Rmax, Rabs.
  destruct (Rle_dec (p k - q k) 0), (Rle_dec (q k - p k) 0), (Rcase_abs (p k - q k)); lra.
Qed.

(** Both parts have the same total: half the l1 distance. *)
Lemma sum_u : sum n u = half_l1 n (subtract p q).
Proof.
  assert (H1 : sum n u - sum n v = 0).
  { rewrite <- sum_minus, (sum_ext n _ (fun k => p k - q k)) by (intros; apply difference).
    rewrite sum_minus; lra. }
  assert (H2 : sum n u + sum n v = sum n (fun k => Rabs (p k - q k))).
  { rewrite <- sum_plus; apply sum_ext; intros; apply size_of_difference. }
  unfold half_l1, subtract; lra.
Qed.

Lemma sum_v : sum n v = half_l1 n (subtract p q).
Proof.
  rewrite <- sum_u.
  assert (H : sum n u - sum n v = 0).
  { rewrite <- sum_minus, (sum_ext n _ (fun k => p k - q k)) by (intros; apply difference).
    rewrite sum_minus; lra. }
  lra.
Qed.

(** The difference of the two combinations, times the l1 half-distance, is one of the differences of the rows of X. *)
Lemma difference_of_combinations : forall X k,
  half_l1 n (subtract p q) * subtract (combine n p X) (combine n q X) k =
  combine n u (fun i => combine n v (fun j => subtract (X i) (X j))) k.
Proof.
  intros X k; unfold combine, subtract at 2 3.
  rewrite (sum_ext n (fun i => u i * sum n (fun j => v j * (X i k - X j k)))
                     (fun i => sum n v * (u i * X i k) - u i * sum n (fun j => v j * X j k))).
  2:{ intros i _.
      rewrite (sum_ext n (fun j => v j * (X i k - X j k)) (fun j => v j * X i k - v j * X j k)) by (intros; ring).
      rewrite sum_minus, sum_scale_r; ring. }
  rewrite sum_minus, sum_scale, sum_scale_r, sum_u, sum_v.
  rewrite <- Rmult_minus_distr_l; f_equal.
  rewrite <- !sum_minus; apply sum_ext; intros i _.
  rewrite <- !Rmult_minus_distr_r; f_equal; symmetry; apply difference.
Qed.

Variables (d : nat) (N : vector -> R).
Hypothesis HN : seminorm d N.

Lemma two_combinations : forall X D,
  (forall i j, (i < n)%nat -> (j < n)%nat -> N (subtract (X i) (X j)) <= D) ->
  N (subtract (combine n p X) (combine n q X)) <= half_l1 n (subtract p q) * D.
Proof.
  intros X D HD.
  set (t := half_l1 n (subtract p q)).
  set (z := subtract (combine n p X) (combine n q X)).
  assert (Ht : 0 <= t) by apply (seminorm_nonneg n _ (half_l1_seminorm n)).
  assert (Hz : t * N z <= t * (t * D)).
  { replace (t * N z) with (N (scale t z)) by (rewrite (homogeneous d N HN), Rabs_pos_eq; trivial).
    rewrite (respects d N HN _ (combine n u (fun i => combine n v (fun j => subtract (X i) (X j)))))
      by (intros k _; apply difference_of_combinations).
    eapply Rle_trans.
    - apply (seminorm_combine_nonneg d N HN n u _ (t * D)); [intros; apply u_nonneg|].
      intros i Hi; unfold t; rewrite <- sum_v.
      apply (seminorm_combine_nonneg d N HN); [intros; apply v_nonneg|].
      intros j Hj; now apply HD.
    - rewrite sum_u; apply Rle_refl. }
  destruct (Rle_lt_or_eq_dec 0 t Ht) as [Hpos|H0].
  - now apply Rmult_le_reg_l with t.
  - (* No distance: the rows are equal, and so are the combinations. *)
    rewrite <- H0, Rmult_0_l; right.
    apply (seminorm_zero d N HN); intros k _; unfold z, subtract, combine.
    rewrite <- sum_minus, <- (sum_zero n); apply sum_ext; intros i Hi.
    assert (Hu : u i = 0) by (apply (sum_zero_terms n u); [intros; apply u_nonneg | rewrite sum_u; now symmetry | exact Hi]).
    assert (Hv : v i = 0) by (apply (sum_zero_terms n v); [intros; apply v_nonneg | rewrite sum_v; now symmetry | exact Hi]).
    assert (H := difference i); rewrite Hu, Hv in H.
    replace (p i * X i k - q i * X i k) with ((p i - q i) * X i k) by ring.
    rewrite <- H; ring.
Qed.

End Two_rows.

(** ** The theorem *)

(** diam(AX) <= tau(A) diam(X), in every seminorm. *)
Theorem diameter_contracts : forall d N m n A X,
  seminorm d N -> row_stochastic m n A ->
  diameter N m (product n A X) <= dobrushin m n A * diameter N n X.
Proof.
  intros d N m n A X HN HA.
  apply largest_pair_le; [apply Rmult_le_pos; apply largest_pair_nonneg|].
  intros i j Hi Hj; unfold product.
  eapply Rle_trans.
  - apply (two_combinations n (A i) (A j)) with (d := d) (D := diameter N n X); [|exact HN|].
    + destruct (HA i Hi) as [_ ->], (HA j Hj) as [_ ->]; reflexivity.
    + intros k l Hk Hl; exact (le_largest_pair n (fun i j => N (subtract (X i) (X j))) k l Hk Hl).
  - apply Rmult_le_compat_r; [apply largest_pair_nonneg|].
    exact (le_largest_pair m (fun i j => half_l1 n (subtract (A i) (A j))) i j Hi Hj).
Qed.

(** The same in the maximum norm, written out. *)
Corollary diameter_contracts_max_norm : forall d m n A X,
  row_stochastic m n A ->
  diameter (max_norm d) m (product n A X) <= dobrushin m n A * diameter (max_norm d) n X.
Proof. intros; apply diameter_contracts with d; [apply max_norm_seminorm | assumption]. Qed.

(** tau is a diameter itself: that of the rows, in half the l1 norm. *)
Lemma dobrushin_is_diameter : forall m n A, dobrushin m n A = diameter (half_l1 n) m A.
Proof. reflexivity. Qed.

(** tau(AB) <= tau(A) tau(B): the contraction, with the rows of B for a cloud. *)
Theorem dobrushin_submultiplicative : forall m n d A B,
  row_stochastic m n A -> dobrushin m d (product n A B) <= dobrushin m n A * dobrushin n d B.
Proof.
  intros m n d A B HA; rewrite !dobrushin_is_diameter; rewrite <- dobrushin_is_diameter.
  apply diameter_contracts with d; [apply half_l1_seminorm | exact HA].
Qed.

(** ||pA - qA||_1 <= tau(A) ||p - q||_1, for p and q of one sum: distributions, for one. *)
Theorem distributions_contract : forall n d A p q,
  sum n p = sum n q ->
  half_l1 d (subtract (combine n p A) (combine n q A)) <= dobrushin n d A * half_l1 n (subtract p q).
Proof.
  intros n d A p q H; rewrite Rmult_comm.
  apply two_combinations with d; [exact H | apply half_l1_seminorm|].
  intros i j Hi Hj; exact (le_largest_pair n (fun i j => half_l1 d (subtract (A i) (A j))) i j Hi Hj).
Qed.

(** The diameter of a mixture of clouds is at most the mixture of their diameters; so is tau of matrices. *)
Theorem diameter_convex : forall d N n X Y t,
  seminorm d N -> 0 <= t <= 1 ->
  diameter N n (fun i => add (scale t (X i)) (scale (1 - t) (Y i))) <=
  t * diameter N n X + (1 - t) * diameter N n Y.
Proof.
  intros d N n X Y t HN [H0 H1].
  assert (HX := largest_pair_nonneg n (fun i j => N (subtract (X i) (X j)))).
  assert (HY := largest_pair_nonneg n (fun i j => N (subtract (Y i) (Y j)))).
  fold (diameter N n X) in HX; fold (diameter N n Y) in HY.
  apply largest_pair_le; [apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra|].
  intros i j Hi Hj.
  rewrite (respects d N HN _ (add (scale t (subtract (X i) (X j))) (scale (1 - t) (subtract (Y i) (Y j)))))
    by (intros k _; unfold add, scale, subtract; ring).
  eapply Rle_trans; [apply (triangle d N HN)|].
  rewrite !(homogeneous d N HN), !Rabs_pos_eq by lra.
  apply Rplus_le_compat; (apply Rmult_le_compat_l; [lra|]).
  - exact (le_largest_pair n (fun i j => N (subtract (X i) (X j))) i j Hi Hj).
  - exact (le_largest_pair n (fun i j => N (subtract (Y i) (Y j))) i j Hi Hj).
Qed.

Corollary dobrushin_convex : forall m n A B t,
  0 <= t <= 1 ->
  dobrushin m n (fun i => add (scale t (A i)) (scale (1 - t) (B i))) <=
  t * dobrushin m n A + (1 - t) * dobrushin m n B.
Proof. intros m n A B t; apply diameter_convex with n; apply half_l1_seminorm. Qed.

(** 0 <= tau(A) <= 1. *)
Theorem dobrushin_range : forall m n A, row_stochastic m n A -> 0 <= dobrushin m n A <= 1.
Proof.
  intros m n A HA; split; [apply largest_pair_nonneg|].
  apply largest_pair_le; [lra|]; intros i j Hi Hj.
  destruct (HA i Hi) as [Pi Si], (HA j Hj) as [Pj Sj].
  unfold half_l1, subtract.
  assert (sum n (fun k => Rabs (A i k - A j k)) <= sum n (fun k => A i k + A j k)).
  { apply sum_le; intros k Hk; specialize (Pi k Hk); specialize (Pj k Hk); unfold Rabs; destruct Rcase_abs; lra. }
  rewrite sum_plus in H; lra.
Qed.

(** The product of row-stochastic matrices is one. *)
Theorem row_stochastic_product : forall m n d A B,
  row_stochastic m n A -> row_stochastic n d B -> row_stochastic m d (product n A B).
Proof.
  intros m n d A B HA HB i Hi; destruct (HA i Hi) as [Pi Si]; unfold product, combine; split.
  - intros k Hk; apply sum_nonneg; intros j Hj; apply Rmult_le_pos; [now apply Pi | now apply (HB j Hj)].
  - rewrite sum_swap, <- Si; apply sum_ext; intros j Hj.
    rewrite sum_scale; destruct (HB j Hj) as [_ ->]; ring.
Qed.

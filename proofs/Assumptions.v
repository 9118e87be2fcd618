(** What each theorem rests on: read by the Makefile, which knows no axiom but those of axioms.txt. *)

Require Import Contraction Stacks Scores.

Print Assumptions diameter_contracts.
Print Assumptions diameter_contracts_max_norm.
Print Assumptions dobrushin_submultiplicative.
Print Assumptions distributions_contract.
Print Assumptions diameter_convex.
Print Assumptions dobrushin_convex.
Print Assumptions dobrushin_range.
Print Assumptions row_stochastic_product.
Print Assumptions layer_contracts.
Print Assumptions stack_contracts.
Print Assumptions stack_contracts_max_norm.
Print Assumptions max_operator_norm.
Print Assumptions skip_keeps_pairs.
Print Assumptions skip_keeps.
Print Assumptions skip_stack_keeps.
Print Assumptions two_forms.
Print Assumptions softmax_row_stochastic.
Print Assumptions softmax_positive_stochastic.
Print Assumptions scores_contract.
Print Assumptions dobrushin_is_best.

"""Where LayerNorm sits: before a branch or after the addition, and what that does to the Jacobian of a stack.

Source, where none is named: "The Transformer Block and the Residual Stream" (Theorem 2).
"""

from resstream.arithmetic import exact, eye, jacobian, mean, ones, sqrt, square, total
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.identity_path import (
    BLOCK_SIZES,
    BLOCKS,
    attention_sublayers,
    final_state,
    norm_jacobian,
    on_rows,
    row,
    smooth_layers,
)
from resstream.claims.models import add
from resstream.claims.sources import ANNOTATED, PAGE
from resstream.domains import (
    Matrix,
    NonConstant,
    Positive,
)
from resstream.reference import (
    centre,
    identity_path_product,
    layer_norm,
    layer_norm_jacobian,
    residual_stack,
    row_norms,
    spectral_norm,
)

# ---- where LayerNorm sits ---------------------------------------------------

WITH_NORM = {"x": NonConstant("d"), "A": Matrix("d", "d"), "B": Matrix("d", "d")}


def pre_ln_functions(layers, n):
    """The sublayers X -> MHA(LN X) of a pre-LN stack."""
    return [lambda X, f=f: f(layer_norm(X)) for f in attention_sublayers(layers, n)]


def pre_ln_streams_are_not_constant(X, layers):
    """No token of a stream that is read is a multiple of the all-ones vector."""
    states = [X]
    for f in attention_sublayers(layers[:-1], X.shape[-2]):
        states.append(states[-1] + f(layer_norm(states[-1], epsilon=exact(1, 10**6))))
    return every(*(more_than(total(square(centre(state))), 0) for state in states))


@claim(
    "pre_ln.jacobian_factor",
    over=WITH_NORM,
    sizes={"d": range(2, 5)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_jacobian_factor(x, A, B):
    """The branch F(LN(x)) of a pre-LN stack has the Jacobian J_LN(x) J_F(LN x): in rows, LayerNorm's factor first."""
    (F,) = smooth_layers([A], [B])
    return equal(jacobian(lambda x: F(layer_norm(x)), x), layer_norm_jacobian(x) @ jacobian(F, layer_norm(x)))


@claim(
    "pre_ln.product_of_blocks",
    over={**BLOCKS, "X": NonConstant("d", "n")},
    assuming=(pre_ln_streams_are_not_constant,),
    sizes={**BLOCK_SIZES, "d": range(3, 4), "H": range(1, 2)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_product_of_blocks(X, layers):
    """A stack X + MHA(LN X) has as its Jacobian, from all entries of the sequence to all, the product of
    I + J_LN(X_k) J_MHA(LN X_k): LayerNorm's factor stands in every branch, and in no identity.
    """
    functions = pre_ln_functions(layers, X.shape[-2])
    branches = []
    for f, state in zip(attention_sublayers(layers, X.shape[-2]), residual_stack(functions, X)[0], strict=False):
        read = layer_norm(state)
        branches.append(norm_jacobian(state) @ jacobian(on_rows(f, X), row(read)))
    whole = jacobian(on_rows(final_state(functions), X), row(X))
    return equal(whole, identity_path_product(branches))


@claim(
    "pre_ln.branch_bound",
    over={"x": NonConstant("d"), "W": Matrix("d", "d")},
    sizes={"d": range(3, 5)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_branch_bound(x, W):
    """For d >= 3 LayerNorm's factor has the norm sqrt d/||Px||, so the branch's is at most that times ||J_F||."""
    factor, size = layer_norm_jacobian(x), row_norms(centre(x))
    root = sqrt(x.shape[-1] * ones((1, 1), like=x))
    return every(
        equal(spectral_norm(factor) * size, root),
        at_most(spectral_norm(factor @ W) * size, root * spectral_norm(W)),
    )


@claim(
    "pre_ln.branch_shrinks_as_stream_grows",
    over={"scale": Positive(1, 1), **WITH_NORM},
    sizes={"d": range(2, 5)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_branch_shrinks_as_stream_grows(scale, x, A, B):
    """A stream c times as long has a branch Jacobian exactly c times as small; the identity term does not change.

    Proof: LN(c x) = LN(x), and J_LN(c x) = J_LN(x)/c.
    """
    (F,) = smooth_layers([A], [B])

    def branch(x):
        return layer_norm_jacobian(x) @ jacobian(F, layer_norm(x))

    return equal(scale * branch(scale * x), branch(x))


def stream_is_not_constant(x, A, B):
    """What the norm reads is no multiple of the all-ones vector."""
    (F,) = smooth_layers([A], [B])
    return more_than(mean(square(centre(x + F(x)))), 0)


def post_ln_states(functions, X):
    """The states of X -> LN(X + f(X)), layer after layer."""
    states = [X]
    for f in functions:
        states.append(layer_norm(states[-1] + f(states[-1])))
    return states


def post_ln_streams_are_not_constant(X, layers):
    """No token that is normalised is near a multiple of the all-ones vector (where LayerNorm has no derivative).

    With a margin, as a distance that may be zero and is irrational cannot be told from zero.
    """
    relations, state = [], X
    for f in attention_sublayers(layers, X.shape[-2]):
        written = state + f(state)
        relations.append(at_least(total(square(centre(written))), exact(1, 10**6)))
        state = layer_norm(written, epsilon=exact(1, 10**6))
    return every(*relations)


@claim(
    "post_ln.every_path_normalised",
    over=WITH_NORM,
    assuming=(stream_is_not_constant,),
    sizes={"d": range(2, 4)},
    source=f"{PAGE}, Theorem 2 (iii)",
)
def post_ln_every_path_normalised(x, A, B):
    """A post-LN layer LN(x + F(x)) has the Jacobian (I + J_F) J_LN(x + F(x)): the skip passes through LayerNorm too."""
    (F,) = smooth_layers([A], [B])
    identity = eye(x.shape[-1], like=x)
    product = (identity + jacobian(F, x)) @ layer_norm_jacobian(x + F(x))
    return equal(jacobian(lambda x: layer_norm(x + F(x)), x), product)


@claim(
    "post_ln.product",
    over={**BLOCKS, "X": NonConstant("d", "n")},
    assuming=(post_ln_streams_are_not_constant,),
    sizes={**BLOCK_SIZES, "d": range(3, 4), "H": range(1, 2)},
    source=f"{PAGE}, Theorem 2 (iii)",
)
def post_ln_product(X, layers):
    """A post-LN stack X_{k+1} = LN(X_k + MHA(X_k)) has as its Jacobian, from all entries of the sequence to all, the
    product of (I + J_MHA) J_LN: multiplied out, every path passes through the LayerNorm of every layer.
    """
    functions = attention_sublayers(layers, X.shape[-2])
    state, product, paths_ = X, eye(X.shape[-2] * X.shape[-1], like=X), [eye(X.shape[-2] * X.shape[-1], like=X)]
    for f in functions:
        J, N = jacobian(on_rows(f, X), row(state)), norm_jacobian(state + f(state))
        product = product @ (J + eye(J.shape[-1], like=X)) @ N
        paths_ = [step for path in paths_ for step in (path @ N, path @ J @ N)]
        state = layer_norm(state + f(state))
    whole = jacobian(on_rows(lambda Y: post_ln_states(functions, Y)[-1], X), row(X))
    return every(equal(whole, product), equal(whole, add(paths_)))


@claim(
    "post_ln.identity_path",
    over={"x": NonConstant("d")},
    sizes={"d": range(2, 5)},
    source="Theorem 2 (i) carried over to post-LN stacks",
    expect="fails",
)
def post_ln_identity_path(x):
    """Tempting and false: in a post-LN layer whose sublayer writes nothing, the Jacobian is the identity.

    It is LayerNorm's own, which sends the all-ones vector and x to zero.
    """
    return equal(jacobian(layer_norm, x), eye(x.shape[-1], like=x))


@claim(
    "post_ln.running_sum",
    over=WITH_NORM,
    assuming=(stream_is_not_constant,),
    sizes={"d": range(2, 5)},
    source=f"{ANNOTATED}, 2.1 and 2.2",
    expect="fails",
)
def post_ln_running_sum(x, A, B):
    """False for the block that the source describes: its output is the input plus what the sublayer wrote.

    Printed: every sublayer is LayerNorm(x + f(x)), and because every sublayer adds its output, the final output is
    literally the embedding plus the sum of all writes.
    Right: that holds of pre-LN blocks (x + f(LN x)) and of blocks without a norm. A norm after the addition rescales
    everything written before it.
    Fault: false.
    """
    (F,) = smooth_layers([A], [B])
    return equal(layer_norm(x + F(x)), x + F(x))

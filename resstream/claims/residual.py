"""The residual stream: a sum of writes, how fast it grows, and the lengths of the paths through it.

The growth of random stacks is a matter of moments, and is derived symbolically; what holds of every instance stands
here. Sublayers are tanh(x W), as in the textbook's own example.
"""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from resstream.arithmetic import absolute, exact, exp, mean, power, square, tanh, total, zeros
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.claims.models import add
from resstream.claims.sources import PAGE, TEXTBOOK
from resstream.domains import (
    Count,
    Matrix,
    NonNegative,
    NonZero,
    Norm,
    Orthogonal,
    Scalar,
    Stack,
    Vector,
)
from resstream.reference import (
    residual_stack,
    row_norms,
)

STACK = {"L": range(1, 4), "n": range(1, 3), "d": range(1, 4)}


def tanh_layer(W):
    """The sublayer x -> tanh(x W)."""
    return lambda x: tanh(x @ W)


def final_state(functions):
    """The map from x_0 to x_L of a residual stack."""
    return lambda x: residual_stack(functions, x)[0][-1]


# ---- the stream is a running sum --------------------------------------------


@claim(
    "stream.running_sum",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes=STACK,
    source=f"{TEXTBOOK}, Unroll it, and the stream becomes a sum",
)
def stream_running_sum(x, Ws):
    """The final stream is the embedding plus everything that every sublayer wrote."""
    functions = [tanh_layer(W) for W in Ws]
    states, _ = residual_stack(functions, x)
    return equal(states[-1], add([x, *(f(state) for f, state in zip(functions, states[:-1], strict=True))]))


@claim(
    "stream.writes_recovered",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes=STACK,
    source=f"{TEXTBOOK}, Unroll it, and the stream becomes a sum",
)
def stream_writes_recovered(x, Ws):
    """Each write is the difference of the two states around it, and what the sublayer makes of the earlier one."""
    functions = [tanh_layer(W) for W in Ws]
    states, _ = residual_stack(functions, x)
    return every(
        *(equal(after - before, f(before)) for f, before, after in zip(functions, states, states[1:], strict=False))
    )


@claim(
    "stream.zero_write_is_identity",
    over={"x": Matrix("n", "d"), "before": Stack("L", Matrix("d", "d")), "after": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(1, 3), "n": range(1, 3), "d": range(1, 4)},
    source=f"{TEXTBOOK}, A block computes a correction, not a replacement",
)
def stream_zero_write_is_identity(x, before, after):
    """A sublayer that writes zeros can be left out: the stack around it gives the same stream."""
    first, last = ([tanh_layer(W) for W in Ws] for Ws in (before, after))
    return equal(final_state([*first, lambda x: 0 * x, *last])(x), final_state([*first, *last])(x))


@claim(
    "stream.last_write_can_be_subtracted",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes=STACK,
    source=f"{TEXTBOOK}, Unroll it, and the stream becomes a sum",
)
def stream_last_write_can_be_subtracted(x, Ws):
    """Switching the last sublayer off takes its write from the final stream, and nothing else."""
    functions = [tanh_layer(W) for W in Ws]
    states, writes = residual_stack(functions, x)
    return equal(residual_stack(functions[:-1], x)[0][-1], states[-1] - writes[-1])


@claim(
    "stream.any_write_can_be_subtracted",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(2, 4), "n": range(1, 3), "d": range(1, 4)},
    source=f"a tempting extension of {TEXTBOOK}, which tells direct from total effects",
    expect="fails",
)
def stream_any_write_can_be_subtracted(x, Ws):
    """Tempting and false: switching the first sublayer off takes its write from the final stream, and nothing else.

    Later sublayers read a stream without that write, and write something else: the indirect effect.
    """
    functions = [tanh_layer(W) for W in Ws]
    states, writes = residual_stack(functions, x)
    return equal(residual_stack(functions[1:], x)[0][-1], states[-1] - writes[0])


@claim(
    "stream.sum_of_states_counts_twice",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(1, 4), "n": range(1, 3), "d": range(1, 4)},
    source="public reports of sublayers whose recorded output already holds the stream",
    expect="fails",
)
def stream_sum_of_states_counts_twice(x, Ws):
    """A reported fault: the final stream is the embedding plus the sum of the states after every sublayer.

    Where a sublayer's recorded output already holds the skip, adding it counts every earlier write again.
    """
    states, _ = residual_stack([tanh_layer(W) for W in Ws], x)
    return equal(states[-1], add(states))


@claim(
    "stream.norm_at_most_sum",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d")), "norm": Norm("d")},
    sizes=STACK,
    source=f"{TEXTBOOK}, The forward signal grows too (what holds without expectations)",
)
def stream_norm_at_most_sum(x, Ws, norm):
    """In every norm, the final stream is at most as long as the embedding and all writes laid end to end."""
    states, writes = residual_stack([tanh_layer(W) for W in Ws], x)
    return at_most(row_norms(states[-1], norm), add([row_norms(part, norm) for part in (x, *writes)]))


@claim(
    "stream.orthogonal_writes",
    over={"directions": Orthogonal("d"), "lengths": Matrix("d", 1)},
    sizes={"d": range(1, 6)},
    source=f"{TEXTBOOK}, The forward signal grows too (what holds without expectations)",
)
def stream_orthogonal_writes(directions, lengths):
    """Where all writes are orthogonal to each other and to the embedding, squared norms add: growth is linear."""
    parts = lengths * directions
    return equal(total(square(total(parts, -2))), total(total(square(parts)), -2))


@claim(
    "stream.squares_add_on_average",
    over={"x": Vector("d"), "writes": Matrix("S", "d")},
    sizes={"S": range(1, 5), "d": range(1, 4)},
    source=f"{TEXTBOOK}, The forward signal grows too",
)
def stream_squares_add_on_average(x, writes):
    """Over writes of independent random signs the mean squared length of the stream is ||x_0||^2 plus the sum of their
    squared lengths, exactly: S writes of squared length c make ||x_0||^2 + S c. The mean is over all 2^S signs.
    """
    S = writes.shape[-2]
    signs = 2 * ((np.arange(2**S)[:, None] >> np.arange(S)) & 1) - 1
    streams = x + (zeros((1, 1), like=x) + signs) @ writes
    average = mean(total(square(streams)), -2)
    return equal(average, total(square(x)) + total(total(square(writes)), -2))


@claim(
    "stream.squares_add",
    over={"parts": Matrix("S", "d")},
    sizes={"S": range(2, 5), "d": range(1, 4)},
    source=f"a tempting reading of {TEXTBOOK}, The forward signal grows too, for single instances",
    expect="fails",
)
def stream_squares_add(parts):
    """Tempting and false: the squared norm of the stream is the sum of those of the embedding and the writes.

    The source says so of independent writes, and "about": see stream.squares_add_on_average. Equal writes give S^2 c.
    """
    return equal(total(square(total(parts, -2))), total(total(square(parts)), -2))


# ---- growth and path lengths ------------------------------------------------


@claim(
    "growth.at_least_one",
    over={"alpha": NonNegative(1, 1), "S": Count("S")},
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_at_least_one(alpha, S):
    """The root-mean-square growth of a residual stack, (1 + a^2)^(S/2), is at least 1 and the plain stack's a^S.

    (Stated of the squares.)
    """
    residual = power(1 + square(alpha), S)
    return every(at_least(residual, 1), at_least(residual, power(square(alpha), S)))


@claim(
    "growth.at_most_exponential",
    over={"alpha": Scalar(0, 20), "S": Count("S")},
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_at_most_exponential(alpha, S):
    """(1 + a^2)^(S/2) is at most e^(a^2 S/2), which the text gives as its size. (Stated of the squares.)"""
    return at_most(power(1 + square(alpha), S), exp(S * square(alpha)))


@claim(
    "growth.exponential_is_attained",
    over={"alpha": Scalar(0, 2), "S": Count("S")},
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, Gradients ride the identity (the sign of the approximation, turned round)",
    expect="fails",
)
def growth_exponential_is_attained(alpha, S):
    """False: (1 + a^2)^(S/2) is at least e^(a^2 S/2)."""
    return at_least(power(1 + square(alpha), S), exp(S * square(alpha)))


@claim(
    "growth.sixty_four_layers",
    over={"S": Count("S")},
    sizes={"S": range(64, 65)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_sixty_four_layers(S):
    """At 64 layers the plain stack's gradient at alpha = 1/2 is 5.4e-20; the residual one's is 4.3e9 at alpha = 1 and
    1.642 at alpha = 1/sqrt 64. (Half a unit of the last digit is allowed.)
    """
    return every(
        at_most(abs(Fraction(1, 2**S) - Fraction("5.4e-20")), Fraction("5e-22")),
        at_most(abs(2 ** (S // 2) - 43 * 10**8), 5 * 10**7),
        at_most(abs((1 + Fraction(1, S)) ** (S // 2) - Fraction("1.642")), Fraction("0.0005")),
    )


@claim(
    "growth.two_sublayers_a_block",
    over={"L": Count("L")},
    sizes={"L": range(1, 97)},
    source=f"{TEXTBOOK}, Gradients ride the identity (GPT-2's initialisation)",
)
def growth_two_sublayers_a_block(L):
    """With two sublayers a block and branches scaled by 1/sqrt(2L), GPT-2's rule, L blocks grow the gradient by
    (1 + 1/(2L))^L, at least 3/2 and at most e^(1/2) = 1.6487: 1.632 at 12 blocks.
    """
    growth = (1 + Fraction(1, 2 * L)) ** L
    return every(at_least(growth, Fraction(3, 2)), at_most(growth, Fraction("1.6488")))


@claim(
    "growth.scaled_branches",
    over={"c": Scalar(0, 1), "S": Count("S")},
    sizes={"S": range(1, 25)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_scaled_branches(c, S):
    """With a^2 = c/S, c <= 1, the squared growth (1 + c/S)^S rises with the depth S and stays at most e^c <= e."""
    growth, deeper = power(1 + exact(1, S) * c, S), power(1 + exact(1, S + 1) * c, S + 1)
    return every(at_most(growth, deeper), at_most(growth, exp(c)), at_most(exp(c), exp(1 + 0 * c)))


def path_weights(alpha, S):
    """Share of the paths through k of S sublayers, C(S, k) a^k/(1 + a)^S, k = 0 .. S: (..., 1, S + 1)."""
    terms = [comb(S, k) * power(alpha, k) + 0 * alpha for k in range(S + 1)]
    return np.concatenate(terms, axis=-1) / power(1 + alpha, S)


PATHS = {"alpha": NonNegative(1, 1), "S": Count("S")}


@claim(
    "paths.binomial_weights",
    over=PATHS,
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, A residual network is an ensemble of paths",
)
def paths_binomial_weights(alpha, S):
    """The weights C(S, k) a^k/(1 + a)^S of path lengths sum to one, with mean S a/(1 + a), variance S a/(1 + a)^2."""
    weights, lengths = path_weights(alpha, S), np.arange(S + 1)
    average = total(weights * lengths)
    return every(
        equal(total(weights), 1),
        equal(average, S * alpha / (1 + alpha)),
        equal(total(weights * lengths * lengths) - square(average), S * alpha / square(1 + alpha)),
    )


@claim(
    "paths.weights_of_squares",
    over=PATHS,
    sizes={"S": range(1, 6)},
    source=f"{TEXTBOOK}, A residual network is an ensemble of paths, in its own random model",
)
def paths_weights_of_squares(alpha, S):
    """In the text's random model of gradients it is squares that add: over branches of independent random signs, a path
    through k sublayers has the mean square a^(2k), all of them together (1 + a^2)^S, and the mean length of a path,
    weighed so, is S a^2/(1 + a^2), not the S a/(1 + a) of the factors themselves. The mean is over all 2^S signs.
    """
    signs = 2 * ((np.arange(2**S)[:, None] >> np.arange(S)) & 1) - 1
    gradients = 1 + zeros((2**S, 1), like=alpha)
    for k in range(S):
        gradients = gradients * (1 + alpha * signs[:, k : k + 1])
    weights = path_weights(square(alpha), S)
    return every(
        equal(mean(square(gradients), -2), power(1 + square(alpha), S)),
        equal(total(weights * np.arange(S + 1)), S * square(alpha) / (1 + square(alpha))),
    )


@claim(
    "paths.unequal_weights",
    over={"alphas": NonNegative(1, "S")},
    sizes={"S": range(1, 6)},
    source=f"after {TEXTBOOK}, A residual network is an ensemble of paths",
)
def paths_unequal_weights(alphas):
    """With a factor a_k of its own for every sublayer, all paths weigh prod (1 + a_k) and have the mean length
    sum a_k/(1 + a_k).
    """
    S = alphas.shape[-1]
    weights, lengths = [], []
    for size in range(S + 1):
        for subset in combinations(range(S), size):
            weight = 1 + 0 * alphas[..., :1]
            for k in subset:
                weight = weight * alphas[..., k : k + 1]
            weights.append(weight)
            lengths.append(size)
    whole, weighed = add(weights), add([length * w for length, w in zip(lengths, weights, strict=True)])
    product = 1
    for k in range(S):
        product = product * (1 + alphas[..., k : k + 1])
    return every(equal(whole, product), equal(weighed / whole, total(alphas / (1 + alphas))))


@claim(
    "paths.mean_is_half",
    over=PATHS,
    sizes={"S": range(1, 9)},
    source="a tempting reading of the ensemble of paths",
    expect="fails",
)
def paths_mean_is_half(alpha, S):
    """Tempting and false: the gradient travels through half of the sublayers on average, as most of the 2^S paths do.

    That is the case a = 1; sublayers that shrink the gradient favour the short paths.
    """
    return equal(2 * total(path_weights(alpha, S) * np.arange(S + 1)), S)


# ---- Euler steps ------------------------------------------------------------


@claim(
    "euler.global_error",
    over={"rate": Scalar(-3, 3), "time": Scalar(0, 2), "x": Matrix(1, 1), "L": Count("L")},
    sizes={"L": range(1, 9)},
    source=f"{PAGE}, Where this goes next (Euler steps)",
)
def euler_global_error(rate, time, x, L):
    """L residual blocks x + h f(x) with f(x) = rate x and h = T/L are Euler's method for x' = f(x): they end within
    (h |rate|/2) e^(|rate| T) (e^(|rate| T) - 1) |x| of the flow's e^(rate T) x, an error that halves as L doubles.

    Proof: Euler's global error is at most (h M/2K)(e^(KT) - 1) for a Lipschitz constant K and a bound M on |x''|, here
    |rate| and rate^2 e^(|rate| T) |x|.
    """
    step = time * exact(1, L)
    last = residual_stack([lambda y: step * rate * y] * L, x)[0][-1]
    size = absolute(rate)
    bound = step * size / 2 * exp(size * time) * (exp(size * time) - 1) * absolute(x)
    return at_most(absolute(last - exp(rate * time) * x), bound)


@claim(
    "euler.turns_outward",
    over={"omega": Scalar(-3, 3), "step": Scalar(0, 2), "x": Vector(2), "L": Count("L")},
    sizes={"L": range(1, 9)},
    source=f"{PAGE}, Where this goes next (Euler steps)",
)
def euler_turns_outward(omega, step, x, L):
    """Where the flow keeps every length, a stack of residual blocks does not: for x' = omega (-x_2, x_1), L steps h
    multiply the squared length by (1 + omega^2 h^2)^L.
    """

    def turn(y):
        return step * omega * np.concatenate([-y[..., 1:], y[..., :1]], axis=-1)

    last = residual_stack([turn] * L, x)[0][-1]
    return equal(total(square(last)), power(1 + square(omega * step), L) * total(square(x)))


@claim(
    "euler.reaches_the_flow",
    over={"rate": Scalar(-3, 3), "x": NonZero(1, 1), "L": Count("L")},
    sizes={"L": range(1, 9)},
    source=f"a tempting reading of {PAGE}, Where this goes next (Euler steps)",
    expect="fails",
)
def euler_reaches_the_flow(rate, x, L):
    """Tempting and false: L residual blocks x + f(x)/L with f(x) = rate x give the flow's e^rate x."""
    last = residual_stack([lambda y: exact(1, L) * rate * y] * L, x)[0][-1]
    return equal(last, exp(rate) * x)

"""Residual stacks: the stream, its writes, and the Jacobian as a product, as a sum over subsets, and run backwards.

Jacobians are in the row convention (df = dx @ J), so a stack multiplies from left to right: (I + J_0)(I + J_1)... The
page prints the transposes, hence the reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from resstream.arithmetic import Array, eye, jacobian
from resstream.errors import ShapeError
from resstream.reference.checks import (
    in_range,
    require_batch,
    require_callable,
    require_flag,
    require_matrix,
    require_row,
    require_sequence,
    require_square,
    require_width,
)

Layer = Callable[[Array], Array]


@in_range
def residual_stack(functions: Sequence[Layer], x: Array) -> tuple[list[Array], list[Array]]:
    """States x_0 .. x_L and writes f_0(x_0) .. f_{L-1}(x_{L-1}) of x_{k+1} = x_k + f_k(x_k), all (..., n, d).

    Source: Theorem 2 (i) of "The Transformer Block and the Residual Stream".

    >>> import numpy as np
    >>> states, writes = residual_stack([lambda x: 2 * x, lambda x: 0 * x + 1], np.array([[5.0]]))
    >>> [x.item() for x in states], [x.item() for x in writes]
    ([5.0, 15.0, 16.0], [10.0, 1.0])
    """
    x = require_matrix("x", x)
    states, writes = [x], []
    for k, function in enumerate(_functions(functions)):
        writes.append(_apply(k, function, states[-1]))
        states.append(states[-1] + writes[-1])
    return states, writes


@in_range
def plain_stack(functions: Sequence[Layer], x: Array) -> list[Array]:
    """States x_0 .. x_L of x_{k+1} = f_k(x_k), all (..., n, d): the stack without the skip.

    >>> import numpy as np
    >>> [x.item() for x in plain_stack([lambda x: 2 * x, lambda x: x + 1], np.array([[5.0]]))]
    [5.0, 10.0, 11.0]
    """
    x = require_matrix("x", x)
    states = [x]
    for k, function in enumerate(_functions(functions)):
        states.append(_apply(k, function, states[-1]))
    return states


def _functions(functions: Sequence[Layer]) -> list[Layer]:
    found = require_sequence("functions", functions, "functions")
    for k, function in enumerate(found):
        require_callable(f"functions[{k}]", function)
    return found


def _apply(k: int, function: Layer, x: Array) -> Array:
    y = require_matrix(f"the result of functions[{k}]", function(x))
    if y.shape != x.shape:
        raise ShapeError(f"functions[{k}]: expected a result of the shape {x.shape} of its input, got {y.shape}")
    return y


@in_range
def stack_jacobians(functions: Sequence[Layer], x: Array) -> list[Array]:
    """Jacobians J_k (..., d, d) of f_k at the points that a residual stack visits from x (..., 1, d).

    >>> import numpy as np
    >>> [J.tolist() for J in stack_jacobians([lambda x: 2 * x, lambda x: x * x], np.array([[5.0]]))]
    [[[2.0]], [[30.0]]]
    """
    x = require_matrix("x", x)
    if x.shape[-2] != 1:
        raise ShapeError(f"x: expected one row (..., 1, d), got shape {x.shape}")
    states, _ = residual_stack(functions, x)
    return [jacobian(function, state) for function, state in zip(functions, states[:-1], strict=True)]


@in_range
def identity_path_product(Js: Sequence[Array]) -> Array:
    """Jacobian of a residual stack, (I + J_0)(I + J_1)...: L Jacobians (..., d, d) -> (..., d, d).

    Source: Theorem 2 (i), left form.

    >>> import numpy as np
    >>> identity_path_product([np.array([[2.0]]), np.array([[3.0]])]).item()
    12.0
    """
    Js, identity = _jacobians(Js)
    product = identity
    for J in Js:
        product = product @ (identity + J)
    return product


@in_range
def subset_sum(Js: Sequence[Array]) -> Array:
    """The same as a sum over the 2^L subsets of layers, each the product of its Jacobians in layer order.

    The empty subset is the identity. Source: Theorem 2 (i), right form.

    >>> import numpy as np
    >>> subset_sum([np.array([[2.0]]), np.array([[3.0]])]).item()  # 1 + 2 + 3 + 2 * 3
    12.0
    """
    Js, identity = _jacobians(Js)
    result = 0 * identity
    for size in range(len(Js) + 1):
        for subset in combinations(Js, size):
            term = identity
            for J in subset:
                term = term @ J
            result = result + term
    return result


@in_range
def backward_recursion(g: Array, Js: Sequence[Array], residual: bool = True) -> list[Array]:
    """Gradients at x_0 .. x_L from g (..., 1, d) at x_L: g_k = g_{k+1} (I + J_k)', without I for a plain stack.

    Source: Theorem 2 (i), last sentence.

    >>> import numpy as np
    >>> [g.tolist() for g in backward_recursion(np.array([[1.0]]), [np.array([[2.0]]), np.array([[3.0]])])]
    [[[12.0]], [[4.0]], [[1.0]]]
    """
    Js, identity = _jacobians(Js)
    require_flag("residual", residual)
    g = require_row("g", g, identity.shape[-1], of="Js[0] has")
    require_batch(g=g, **{f"Js[{k}]": J for k, J in enumerate(Js)})
    gradients = [g]
    for J in reversed(Js):
        gradients.insert(0, gradients[0] @ (identity + J if residual else J).mT)
    return gradients


def _jacobians(Js: Sequence[Array]) -> tuple[list[Array], Array]:
    """The Jacobians through the gate, and the identity beside them."""
    found = require_sequence("Js", Js, "Jacobians", least=1)
    for k, J in enumerate(found):
        found[k] = J = require_square(f"Js[{k}]", J)
        require_width(f"Js[{k}]", J, found[0].shape[-1], of="Js[0] has")
    require_batch(**{f"Js[{k}]": J for k, J in enumerate(found)})
    return found, eye(found[0].shape[-1], like=found[0])

"""The expressions in which a claim is modified: arithmetic on its variables, and calls of the reference.

An allow-list of syntax, read by this module and never by `eval`: names, numbers (decimals are exact fractions),
+ - * / @, ** with whole exponents, places such as X[0, 1:], and calls of allowed names. Everything else is refused with
its place. Exponents, places and whole arguments are whole numbers of sizes: 2 * d, n - 1, rows(X) // 2.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from resstream import arithmetic, domains, reference, relations
from resstream.arithmetic import Exact, Literal, power
from resstream.claim import Claim
from resstream.domains import size
from resstream.domains.current import sizes_now
from resstream.errors import DomainError
from resstream.falsify import written_arrays
from resstream.falsify.syntax import DEEPEST, ExpressionError, parse
from resstream.falsify.written_domains import domain_makers, domain_of, law_makers
from resstream.relations import Growth, Relation

LARGEST_EXPONENT = 16
"""Of `**`, where it is written as a number."""

LARGEST_SIZE = 64
"""What a size counts for in the degree of an expression with exponents such as 2 * d."""

LARGEST_DEGREE = 1024
"""Of an expression as a polynomial in its names: exact numbers get about this many times as long."""

LARGEST_BITS = 4096
"""Of an exact number inside an expression."""

_REFERENCE = (
    "Lp",
    "affine_rank",
    "ascending",
    "attention",
    "attention_scores",
    "attention_weights",
    "birkhoff_coefficient",
    "causal_mask",
    "centre",
    "composition_score",
    "condition_number",
    "cosine_similarity",
    "determinant",
    "diameter",
    "dispersion",
    "distance_to_constant",
    "dobrushin",
    "dobrushin_overlap",
    "eigenvalue_moduli",
    "enclosing_radius",
    "entropy",
    "frobenius_norm",
    "gelu",
    "gelu_tanh",
    "gram",
    "hellinger",
    "hilbert_metric",
    "identity_path_product",
    "kl_divergence",
    "largest_row_norm",
    "layer_norm",
    "layer_norm_jacobian",
    "log_softmax",
    "logit_lens",
    "logsumexp",
    "matrix_power",
    "mean_pairwise_distance",
    "one_hot_argmax",
    "operator_norm",
    "ov_circuit",
    "pairwise_distances",
    "pseudo_inverse",
    "qk_circuit",
    "rank",
    "relative_spread",
    "rms_norm",
    "rms_norm_jacobian",
    "rotary",
    "rotary_inverse",
    "row_norms",
    "row_range",
    "schatten_norm",
    "second_modulus",
    "sigmoid",
    "silu",
    "singular_values",
    "smallest_real_part",
    "smallest_singular_value",
    "softmax",
    "softplus",
    "spectral_norm",
    "spectral_radius",
    "squared_enclosing_radius",
    "subset_sum",
    "top_k",
    "total_variation",
    "trace",
)
_ARITHMETIC = (
    "absolute",
    "amax",
    "amin",
    "cos",
    "descending",
    "erf",
    "exp",
    "largest_entry",
    "log",
    "maximum",
    "mean",
    "minimum",
    "relu",
    "root",
    "sin",
    "smallest_entry",
    "sqrt",
    "square",
    "tanh",
    "total",
    "total_entry",
)


_LINEAR = (
    *("above", "abs", "absolute", "amax", "amin", "beside", "centre", "descending", "diagonal", "dobrushin"),
    *("largest_entry", "maximum", "mean", "minimum", "relu", "row_range", "smallest_entry", "total", "total_entry"),
    "transpose",
)
"""Functions that leave the length of exact numbers about as it is."""


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(arithmetic, name) for name in _ARITHMETIC},
    **{name: getattr(reference, name) for name in _REFERENCE},
    **{name: getattr(written_arrays, name) for name in written_arrays.__all__},
    "abs": arithmetic.absolute,
    "expectation": domains.expectation,
}
"""What an expression may call."""

RELATIONS: Mapping[str, Callable[..., Relation]] = {
    function.__name__: function
    for function in (
        *(relations.at_least, relations.at_most, relations.differ, relations.either, relations.equal),
        *(relations.every, relations.iff, relations.implies, relations.in_some_entry, relations.less_than),
        *(relations.more_than, relations.negation, relations.within),
        *(relations.exists, relations.for_all),
    )
}
"""What an expression that states a relation may call as well."""

_BINDING = ("exists", "expectation", "for_all")
"""Of a new name: exists(P in Permutation(n), equal(x @ P, descending(x))), expectation(q in Signs(1, n), q)."""

_OF_CONSTANTS = ("Lp",)
"""Functions of numbers that are known when an expression is read."""

CONSTANTS: Mapping[str, Any] = {
    "L1": reference.L1,
    "L2": reference.L2,
    "LINF": reference.LINF,
    "e": arithmetic.e,
    "pi": arithmetic.pi,
}
"""What an expression may name besides the claim's variables."""


GROWTHS: Mapping[str, Callable[..., Growth]] = {"limit": relations.limit, "rate": relations.rate}
"""What a conclusion may be as a whole: limit(L, quantity, to=0), of a size and a quantity."""


def scope_of(claim: Claim) -> tuple[str, ...]:
    """The names that a new side or conclusion of the claim may use."""
    return (*claim.stated_names, *claim.over)


Compiled = Callable[[Mapping[str, Any]], Any]


def side(text: str, names: tuple[str, ...], what: str, sizes: Collection[str] = ()) -> Callable[..., Any]:
    """A function for `Claim.replace(lhs=..., rhs=...)`, of those of the names that the expression uses.

    The name of a size, where it is not among the names, stands for its number.
    """
    return _function(text, names, sizes, what, FUNCTIONS, (np.ndarray, int, Literal), "a number or an array")


def relation(text: str, names: tuple[str, ...], what: str, sizes: Collection[str] = ()) -> Callable[..., Relation]:
    """A function for `Claim.replace(conclusion=..., assuming=...)`, as `side` gives one."""
    return _function(
        text, names, sizes, what, {**FUNCTIONS, **RELATIONS}, (Relation,), "a relation such as at_most(..., ...)"
    )


def concluding(claim: Claim, text: str, sizes: Collection[str]) -> dict[str, Any]:
    """What `Claim.replace` takes for a conclusion as text: a relation, or what is said of a quantity as a size grows.

    The latter is `limit(L, quantity, to=0, monotone=decreasing)` or `rate(L, quantity, order=1, constant=2)`, where
    the name of the size stands for its number and the bounds use the claim's variables.
    """
    stripped, names = text.strip(), scope_of(claim)
    tree = parse(stripped, "conclusion")
    name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""
    if name not in GROWTHS:
        return {"conclusion": relation(text, names, "conclusion", sizes)}
    assert isinstance(tree, ast.Call)

    def refused(place: ast.AST, message: str) -> ExpressionError:
        return ExpressionError("conclusion", stripped, place, message)

    known = tuple(inspect.signature(GROWTHS[name]).parameters)[1:]
    if len(tree.args) != 2 or any(keyword.arg not in known for keyword in tree.keywords):
        raise refused(
            tree, f"expected {name}(size, quantity) and of {', '.join(f'{one}=' for one in known)} what is needed"
        )
    grown, quantity = tree.args
    if not isinstance(grown, ast.Name) or grown.id not in sizes:
        raise refused(grown, f"expected a size that grows, one of {', '.join(sorted(sizes)) or '(none)'}")
    fixed = [one for one in sizes if one != grown.id]  # a limit is tended to as that size moves
    given: dict[str, Any] = {}
    for keyword in tree.keywords:
        written = ast.get_source_segment(stripped, keyword.value) or ""
        if keyword.arg == "monotone":
            given[keyword.arg] = written
            continue
        bound = side(written, tuple(claim.over), f"conclusion: {keyword.arg}", fixed if name == "limit" else sizes)
        given[str(keyword.arg)] = _constant_of(keyword.value, bound)
    return {
        "conclusion": side(ast.get_source_segment(stripped, quantity) or "", names, "conclusion: quantity", sizes),
        "as_grows": GROWTHS[name](grown.id, **given),
    }


def _constant_of(node: ast.expr, function: Callable[..., Any]) -> Any:
    """The number that an expression without variables and sizes is; else the function."""
    return function if any(isinstance(part, ast.Name) for part in ast.walk(node)) else function()


def _function(
    text: str,
    names: tuple[str, ...],
    sizes: Collection[str],
    what: str,
    functions: Mapping[str, Callable[..., Any]],
    kinds: tuple[type, ...],
    expected: str,
) -> Callable[..., Any]:
    """The function that an expression is, whose values are of some kinds."""
    stripped = text.strip()
    tree = parse(stripped, what)
    used: list[str] = []
    compiled = _Compiler(stripped, names, sizes, what, used, functions).compile(tree, 0)
    if (degree := _degree(tree)) > LARGEST_DEGREE:
        raise ExpressionError(what, stripped, tree, f"powers up to {degree:,}, expected at most {LARGEST_DEGREE:,}")

    def evaluate(**scope: Any) -> Any:
        value = compiled(scope)
        if not isinstance(value, kinds):
            raise ExpressionError(what, stripped, tree, f"expected {expected}, got {type(value).__name__}")
        return value

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in dict.fromkeys(used)]
    evaluate.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    evaluate.__name__ = f"{what}: {stripped}"
    return evaluate


def _degree(node: ast.expr) -> int:
    """A bound on the degree of an expression that was compiled: how much longer its exact values get."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            return _degree(node.left) * _largest(node.right)
        left, right = _degree(node.left), _degree(node.right)
        return max(left, right) if isinstance(node.op, (ast.Add, ast.Sub)) else left + right
    if isinstance(node, ast.UnaryOp):
        return _degree(node.operand)
    if isinstance(node, ast.Subscript):
        return _degree(node.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "matrix_power":
            return _degree(node.args[0]) * max(map(_largest, node.args[1:]), default=1)
        inner = max((_degree(part) for part in (*node.args, *(k.value for k in node.keywords))), default=0)
        return inner * (1 if isinstance(node.func, ast.Name) and node.func.id in _LINEAR else 2)
    return 1 if isinstance(node, ast.Name) else 0


def _largest(node: ast.expr) -> int:
    """A bound on a whole number of an expression that was compiled."""
    if isinstance(node, ast.BinOp):
        left, right = _largest(node.left), _largest(node.right)
        return left * right if isinstance(node.op, ast.Mult) else left + right
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else LARGEST_SIZE


class _Compiler:
    """Turns a syntax tree into functions of a scope, refusing everything that is not on the list."""

    def __init__(
        self,
        text: str,
        names: tuple[str, ...],
        sizes: Collection[str],
        what: str,
        used: list[str],
        functions: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.text, self.names, self.sizes, self.what, self.used = text, names, sizes, what, used
        self.functions = functions
        self.bound: list[str] = []

    def refuse(self, node: ast.AST, message: str) -> ExpressionError:
        return ExpressionError(self.what, self.text, node, message)

    def compile(self, node: ast.expr, depth: int) -> Compiled:
        if depth > DEEPEST:
            raise self.refuse(node, f"nested more than {DEEPEST} deep")
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.compile(node.operand, depth + 1)
            return (lambda scope: -inner(scope)) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Subscript):
            return self._places(node, depth)
        kind = _KINDS.get(type(node), type(node).__name__.lower())
        raise self.refuse(node, f"{kind} is not allowed: expected numbers, names, + - * / @ **, X[i, j] and calls")

    def _constant(self, node: ast.Constant) -> Compiled:
        value = node.value
        written = ast.get_source_segment(self.text, node) or ""
        if type(value) is int and len(written) <= 40:
            return lambda _: value
        if type(value) is float and len(written) <= 40:
            digits = written.replace("_", "").lower()
            exponent = digits.partition("e")[2]
            if exponent and abs(int(exponent)) > 300:
                raise self.refuse(node, "expected an exponent between -300 and 300")
            exact = Exact(Fraction(digits))
            return lambda _: exact
        raise self.refuse(node, "expected a whole number or a decimal of at most 40 characters")

    def _name(self, node: ast.Name) -> Compiled:
        name = node.id
        if name in self.bound:
            return lambda scope: scope[name]
        if name in self.names:
            self.used.append(name)
            return lambda scope: scope[name]
        if name in self.sizes:
            return lambda _: size(name)
        if name in CONSTANTS:
            return lambda _: CONSTANTS[name]
        if name in self.functions:
            raise self.refuse(node, f"{name} is a function, expected a call such as {name}(...)")
        known = ", ".join(dict.fromkeys((*self.names, *self.sizes, *CONSTANTS)))
        raise self.refuse(node, f"unknown name {name!r}, expected one of {known}")

    def _operation(self, node: ast.BinOp, depth: int) -> Compiled:
        if isinstance(node.op, ast.Pow):
            return self._power(node, depth)
        if isinstance(node.op, ast.FloorDiv):
            return self._whole(node, depth)
        operation = _OPERATIONS.get(type(node.op))
        if operation is None:
            raise self.refuse(node, "this operator is not allowed: expected + - * / @ ** or, of whole numbers, //")
        left, right = self.compile(node.left, depth + 1), self.compile(node.right, depth + 1)
        return lambda scope: self._bounded(node, self._apply(node, operation, left(scope), right(scope)))

    def _power(self, node: ast.BinOp, depth: int) -> Compiled:
        written = node.right.value if isinstance(node.right, ast.Constant) else None
        expected = f"expected a whole exponent between 0 and {LARGEST_EXPONENT}, or one of sizes, such as 2 * d"
        if isinstance(node.right, ast.Constant):
            if type(written) is not int or not 0 <= written <= LARGEST_EXPONENT:
                raise self.refuse(node.right, expected)
        elif not any(isinstance(part, ast.Name) and part.id in self.sizes for part in ast.walk(node.right)):
            raise self.refuse(node.right, expected)
        base, exponent = self.compile(node.left, depth + 1), self._whole(node.right, depth + 1)

        def raised(scope: Mapping[str, Any]) -> Any:
            value, times = base(scope), exponent(scope)
            if not 0 <= times <= LARGEST_DEGREE:
                raise self.refuse(node.right, f"expected an exponent between 0 and {LARGEST_DEGREE}, got {times}")
            result = self._apply(node, power if isinstance(value, np.ndarray) else pow, value, times)
            return self._bounded(node, result)

        return raised

    def _whole(self, node: ast.expr, depth: int) -> Callable[[Mapping[str, Any]], int]:
        """A whole number: of numbers, sizes, rows(...) and columns(...), by + - * and //."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._whole(node.operand, depth + 1)
            return lambda scope: -inner(scope)
        if isinstance(node, ast.BinOp) and type(node.op) in _WHOLE_OPERATIONS:
            operation = _WHOLE_OPERATIONS[type(node.op)]
            left, right = self._whole(node.left, depth + 1), self._whole(node.right, depth + 1)
            return lambda scope: int(self._bounded(node, self._apply(node, operation, left(scope), right(scope))))
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return self.compile(node, depth)
        if isinstance(node, ast.Name) and node.id in self.sizes and node.id not in self.bound:
            name = node.id
            return lambda _: int(sizes_now(name)[name])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("rows", "columns"):
            return self._call(node, depth)
        raise self.refuse(node, "expected a whole number: numbers, sizes, rows(X), columns(X), + - * and //")

    def _places(self, node: ast.Subscript, depth: int) -> Compiled:
        """Rows and columns of a matrix, which stays one: X[0, 1:] is (1, d - 1)."""
        chosen = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(chosen) != 2:
            raise self.refuse(node.slice, "expected two places, of rows and of columns: X[0, 1:]")
        value, places = self.compile(node.value, depth + 1), [self._place(place, depth + 1) for place in chosen]

        def taken(scope: Mapping[str, Any]) -> Any:
            x = value(scope)
            if not isinstance(x, np.ndarray):
                raise self.refuse(node.value, f"expected a matrix, got {type(x).__name__}")
            rows, columns = (place(scope, length) for place, length in zip(places, x.shape[-2:], strict=True))
            return x[..., rows, columns]

        return taken

    def _place(self, node: ast.expr, depth: int) -> Callable[[Mapping[str, Any], int], slice]:
        if isinstance(node, ast.Slice):
            if node.step is not None:
                raise self.refuse(node.step, "expected no step")
            ends = [end and self._whole(end, depth) for end in (node.lower, node.upper)]

            def several(scope: Mapping[str, Any], length: int) -> slice:
                start, stop, _ = slice(*(end and end(scope) for end in ends)).indices(length)
                if start >= stop:
                    raise self.refuse(node, f"expected one place at least, got none of {length}")
                return slice(start, stop)

            return several
        index = self._whole(node, depth)

        def one(scope: Mapping[str, Any], length: int) -> slice:
            place = index(scope)
            if not -length <= place < length:
                raise self.refuse(node, f"expected a place from 0 to {length - 1}, got {place}")
            return slice(place % length, place % length + 1)

        return one

    def _call(self, node: ast.Call, depth: int) -> Compiled:
        if not isinstance(node.func, ast.Name):
            raise self.refuse(node.func, "expected the plain name of a function")
        name = node.func.id
        if name in GROWTHS:
            raise self.refuse(node, f"{name}(...) is a whole conclusion, and no part of another expression")
        if name not in self.functions:
            near = difflib.get_close_matches(name, self.functions, n=3, cutoff=0.5) or sorted(self.functions)
            raise self.refuse(node, f"unknown function {name!r}, expected one such as {', '.join(near)}")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self.refuse(argument, "expected no *")
        if name in _BINDING:
            return self._bound_by(node, name, depth)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(keyword.value, "expected no **")
        function = self.functions[name]
        named_nodes = {str(keyword.arg): keyword.value for keyword in node.keywords}
        signature = inspect.signature(function)
        try:
            signature.bind(*node.args, **named_nodes)
        except TypeError as failure:
            raise self.refuse(node, f"{name}: {failure}") from None
        takes = list(signature.parameters.values())
        arguments = [
            self._argument(argument, takes[min(place, len(takes) - 1)], depth + 1)
            for place, argument in enumerate(node.args)
        ]
        keywords = {
            key: self._argument(value, signature.parameters[key], depth + 1) for key, value in named_nodes.items()
        }

        def call(scope: Mapping[str, Any]) -> Any:
            values = [argument(scope) for argument in arguments]
            named = {key: value(scope) for key, value in keywords.items()}
            return self._apply(node, function, *values, **named)

        return self._constant_call(node, name, call) if name in _OF_CONSTANTS else call

    def _argument(self, node: ast.expr, parameter: inspect.Parameter, depth: int) -> Compiled:
        return self._whole(node, depth) if parameter.annotation in (int, "int") else self.compile(node, depth)

    def _bound_by(self, node: ast.Call, name: str, depth: int) -> Compiled:
        """`exists(c in Matrix(1, d), relation, witness, ...)`, `for_all(P in Permutation(n), relation)` or
        `expectation(q in Gaussian(1, d), value)`.
        """
        form = {
            "exists": "exists(P in Permutation(n), relation, witness, ...)",
            "expectation": "expectation(q in Gaussian(1, d), value)",
            "for_all": "for_all(P in Permutation(n), relation)",
        }[name]
        if node.keywords or len(node.args) < 2 or (name != "exists" and len(node.args) > 2):
            raise self.refuse(node, f"expected {form}")
        binder, stated, *others = node.args
        if not isinstance(binder, ast.Compare) or not isinstance(binder.left, ast.Name) or len(binder.ops) != 1:
            raise self.refuse(binder, f"expected a new name and its domain, as in {form}")
        if not isinstance(binder.ops[0], ast.In):
            raise self.refuse(binder, f"expected `in` between the name and its domain, as in {form}")
        makers = law_makers() if name == "expectation" else domain_makers()
        new, domain = binder.left.id, domain_of(self.text, binder.comparators[0], makers)
        if new in {*self.names, *self.sizes, *self.bound, *CONSTANTS, *self.functions}:
            raise self.refuse(binder, f"the name {new} has a meaning already, expected a new one")
        for size_name in sorted(domain.size_names() - set(self.sizes)):
            known = ", ".join(sorted(self.sizes)) or "none"
            raise self.refuse(binder, f"size {size_name!r} is none of the claim's ({known})")
        witnesses = [self.compile(other, depth + 1) for other in others]
        self.bound.append(new)
        body = self.compile(stated, depth + 1)
        self.bound.pop()
        function = self.functions[name]

        def call(scope: Mapping[str, Any]) -> Any:
            given = {"witnesses": [witness(scope) for witness in witnesses]} if witnesses else {}
            return self._apply(node, function, domain, lambda member: body({**scope, new: member}), **given)

        return call

    def _constant_call(self, node: ast.Call, name: str, call: Compiled) -> Compiled:
        """A call of numbers alone, made once: what is wrong with it is said before anything is searched."""
        try:
            value = call({})
        except KeyError:
            raise self.refuse(node, f"{name}: expected numbers, not variables") from None
        except DomainError as failure:
            raise self.refuse(node, str(failure)) from None
        return lambda _: value

    def _apply(self, node: ast.AST, function: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """The function's value; what it says of arguments of a wrong kind becomes an error with its place."""
        try:
            return function(*values, **named)
        except (TypeError, AttributeError, IndexError) as failure:  # NumPy's AxisError is an IndexError
            raise self.refuse(node, f"cannot be evaluated: {failure}") from failure
        except ValueError as failure:
            if type(failure) is not ValueError:  # ours, or a limit of a number system
                raise
            raise self.refuse(node, f"cannot be evaluated: {failure}") from failure

    def _bounded(self, node: ast.AST, value: Any) -> Any:
        exact = value.value if isinstance(value, Exact) else value
        if isinstance(exact, (int, Fraction)):
            exact = Fraction(exact)
            if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > LARGEST_BITS:
                raise self.refuse(node, f"a number of more than {LARGEST_BITS} bits")
        return value


def _quotient(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, (int, Exact)):
        left = Exact(Fraction(left))
    divisor = right.value if isinstance(right, Exact) else right
    if isinstance(left, Literal) and isinstance(divisor, (int, Fraction)) and divisor == 0:
        raise TypeError("division by zero")
    return left / right


def _whole_quotient(left: int, right: int) -> int:
    if right == 0:
        raise TypeError("division by zero")
    return left // right


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: _quotient,
    ast.MatMult: lambda left, right: left @ right,
}

_WHOLE_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.FloorDiv: _whole_quotient,
}

_KINDS: dict[type[ast.expr], str] = {
    ast.Attribute: "attribute access",
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.NamedExpr: "an assignment",
    ast.JoinedStr: "a string",
    ast.Compare: "a comparison",
    ast.BoolOp: "and/or",
    ast.IfExp: "a condition",
}

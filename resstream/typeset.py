"""Mathematics as it is written in statements and in code, set as a reader expects it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "lambda": "λ", "mu": "μ",
    "sigma": "σ", "tau": "τ", "theta": "θ", "pi": "π",
}  # fmt: skip
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "||": "‖", "infinity": "∞"}
_RAISED = str.maketrans("0123456789+-nkdLSm", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵏᵈᴸˢᵐ")
_LOWERED = str.maketrans("0123456789+-ijklmnhx", "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₗₘₙₕₓ")

_WORD = re.compile(r"(?<![\w.])(" + "|".join(_GREEK) + r")(?=_|\b)(?!\w*\.\w)")
_SIGN = re.compile("|".join(re.escape(sign) for sign in _SIGNS))
_POWER = re.compile(r"\^(?:\{([0-9+\-nkdLSm]+)\}|([0-9nkdLSm]|-\d)(?![\w.]))")
_INDEX = re.compile(r"(?<=[A-Za-zα-ω])_(?:\{([0-9ijklmnhx+\-]+)\}|([0-9ijklmnhx]+)(?![A-Za-z_]))")


def prose(text: str) -> str:
    """A statement in plain text with its formulas in Unicode: `tau(A)^2 <= ||W||` is τ(A)² ≤ ‖W‖.

    >>> prose("diam(AX) <= tau(A)^2 diam(X_0), ||x|| -> 0")
    'diam(AX) ≤ τ(A)² diam(X₀), ‖x‖ → 0'
    """
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], text.replace("`", ""))
    text = _WORD.sub(lambda found: _GREEK[found[1]], text)
    text = _POWER.sub(lambda found: (found[1] or found[2]).translate(_RAISED), text)
    return _INDEX.sub(lambda found: (found[1] or found[2]).translate(_LOWERED), text)


# ---- formulas, from code ----------------------------------------------------


@dataclass(frozen=True)
class Formula:
    """A formula in two notations."""

    mathml: str
    latex: str

    def display(self) -> str:
        """MathML for a line of its own."""
        return f'<math display="block">{self.mathml}</math>'


def conclusion(function: Callable[..., Any]) -> list[Formula]:
    """What a claim's function returns, one formula a relation, after its definitions; none where it is too much code.

    Read off the source: a function of assignments of names and one `return` of relations (at_most, implies, ...).
    Anything else (loops, branches, slices) gives an empty list.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        (definition,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        body = definition.body[1:] if ast.get_docstring(definition) else definition.body
        *steps, last = body
        shown = [_definition(step) for step in steps]
        if not isinstance(last, ast.Return) or last.value is None:
            return []
        return [*_relations(last.value), *shown]
    except (OSError, TypeError, SyntaxError, ValueError, _Unreadable):
        return []


class _Unreadable(Exception):
    """Code that is not set as a formula."""


_RELATIONS = {
    "at_most": ("≤", r"\le"),
    "at_least": ("≥", r"\ge"),
    "less_than": ("&lt;", "<"),
    "more_than": ("&gt;", ">"),
    "equal": ("=", "="),
    "differ": ("≠", r"\ne"),
}

_JOINED = {
    "either": ("∨", r"\lor"),
    "every": ("∧", r"\land"),
    "implies": ("⟹", r"\implies"),
    "iff": ("⟺", r"\iff"),
}

_NAMED = {
    "dobrushin": ("τ", r"\tau"), "diameter": ("diam", r"\operatorname{diam}"), "layer_norm": ("LN", r"\mathrm{LN}"),
    "rms_norm": ("RMS", r"\mathrm{RMS}"), "total": ("sum", r"\operatorname{sum}"),
    "total_entry": ("sum", r"\operatorname{sum}"), "amax": ("max", r"\max"), "amin": ("min", r"\min"),
    "maximum": ("max", r"\max"), "minimum": ("min", r"\min"), "row_range": ("range", r"\operatorname{range}"),
    "pairwise_distances": ("dist", r"\operatorname{dist}"), "exp": ("exp", r"\exp"), "log": ("log", r"\log"),
    "tanh": ("tanh", r"\tanh"), "cos": ("cos", r"\cos"), "sin": ("sin", r"\sin"),
    "erf": ("erf", r"\operatorname{erf}"), "entropy": ("H", "H"), "kl_divergence": ("KL", r"\operatorname{KL}"),
    "total_variation": ("TV", r"\operatorname{TV}"), "hellinger": ("Hell", r"\operatorname{Hell}"),
    "hilbert_metric": ("hilb", r"\operatorname{hilb}"), "birkhoff_coefficient": ("τ_B", r"\tau_B"),
    "gelu": ("GELU", r"\operatorname{GELU}"), "determinant": ("det", r"\det"),
    "trace": ("tr", r"\operatorname{tr}"), "spectral_radius": ("ρ", r"\rho"), "condition_number": ("κ", r"\kappa"),
    "singular_values": ("σ", r"\sigma"), "one_hot_argmax": ("argmax", r"\operatorname{argmax}"),
}  # fmt: skip

_SUBSCRIPT = {"L1": "1", "L2": "2", "LINF": r"\infty"}
_NORMS = ("spectral_norm", "frobenius_norm", "operator_norm", "row_norms", "schatten_norm")

_BINARY: dict[type[ast.operator], tuple[int, str, str]] = {
    ast.Add: (1, "<mo>+</mo>", " + "),
    ast.Sub: (1, "<mo>−</mo>", " - "),
    ast.Mult: (2, "<mo>·</mo>", r" \cdot "),
    ast.MatMult: (2, "<mo>&#x2062;</mo>", r"\, "),
}


def _relations(node: ast.expr) -> list[Formula]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise _Unreadable
    if node.func.id == "every":
        return [formula for argument in node.args for formula in _relations(argument)]
    return [_relation(node, fenced=False)]


def _relation(node: ast.expr, fenced: bool) -> Formula:
    """A relation as one formula, in brackets where it is `fenced` and made of others."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise _Unreadable
    name, arguments = node.func.id, node.args
    if name in _RELATIONS and len(arguments) == 2:
        sign, latex = _RELATIONS[name]
        left, right = (_formula(argument, 0) for argument in arguments)
        return Formula(f"{left.mathml}<mo>{sign}</mo>{right.mathml}", f"{left.latex} {latex} {right.latex}")
    if name == "within" and len(arguments) == 3:
        size = _call("absolute", [ast.BinOp(arguments[0], ast.Sub(), arguments[1])], [])
        error = _formula(arguments[2], 0)
        return Formula(f"{size.mathml}<mo>≤</mo>{error.mathml}", rf"{size.latex} \le {error.latex}")
    if name in _JOINED and arguments:
        sign, latex = _JOINED[name]
        parts = [_relation(argument, fenced=True) for argument in arguments]
        mathml = f"<mo>{sign}</mo>".join(part.mathml for part in parts)
        return _fenced(Formula(mathml, f" {latex} ".join(part.latex for part in parts)), fenced)
    if name in _QUANTIFIED and len(arguments) == 2:
        return _fenced(_quantified(name, *arguments), fenced)
    if name in ("negation", "in_some_entry") and len(arguments) == 1:
        inner = _relation(arguments[0], fenced=name == "negation")
        if name == "negation":
            return Formula(f"<mo>¬</mo><mrow>{inner.mathml}</mrow>", rf"\lnot {inner.latex}")
        words = "in some entry"
        return _fenced(Formula(f"{inner.mathml}<mtext> {words}</mtext>", rf"{inner.latex} \text{{ {words}}}"), fenced)
    raise _Unreadable


_QUANTIFIED = {"exists": ("∃", r"\exists"), "for_all": ("∀", r"\forall")}


def _quantified(name: str, domain: ast.expr, statement: ast.expr) -> Formula:
    """A relation for all, or for one, of the members of a domain."""
    if not isinstance(statement, ast.Lambda) or len(statement.args.args) != 1:
        raise _Unreadable
    sign, latex = _QUANTIFIED[name]
    variable = _name(statement.args.args[0].arg)
    text = ast.unparse(domain).replace("'", "")
    inner = _relation(statement.body, fenced=False)
    return Formula(
        f"<mo>{sign}</mo>{variable.mathml}<mo>∈</mo><mtext>{text}</mtext><mo>:</mo>{inner.mathml}",
        rf"{latex} {variable.latex} \in \text{{{text}}}: {inner.latex}",
    )


def _definition(step: ast.stmt) -> Formula:
    if not (isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(step.targets[0], ast.Name)):
        raise _Unreadable
    left, right = _formula(step.targets[0], 0), _formula(step.value, 0)
    return Formula(
        f"<mtext>where </mtext>{left.mathml}<mo>=</mo>{right.mathml}",
        rf"\text{{where }} {left.latex} = {right.latex}",
    )


def _formula(node: ast.expr, outer: int) -> Formula:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Formula(f"<mn>{node.value}</mn>", str(node.value))
    if isinstance(node, ast.Name):
        return _name(node.id)
    if isinstance(node, ast.Attribute):
        inner = _formula(node.value, 5)
        if node.attr == "mT":
            return Formula(f"<msup><mrow>{inner.mathml}</mrow><mi>T</mi></msup>", f"{{{inner.latex}}}^{{\\mathsf T}}")
        name = _name(node.attr)
        return Formula(f"<msub>{name.mathml}<mrow>{inner.mathml}</mrow></msub>", f"{name.latex}_{{{inner.latex}}}")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _formula(node.operand, 3)
        return _fenced(Formula(f"<mo>−</mo>{inner.mathml}", f"-{inner.latex}"), outer > 1)
    if isinstance(node, ast.BinOp):
        return _binary(node, outer)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, node.args, node.keywords)
    raise _Unreadable


def _name(name: str) -> Formula:
    greek = {word: letter for word, letter in _GREEK.items() if word != "eps"}.get(name)
    if greek:
        return Formula(f"<mi>{greek}</mi>", f"\\{name}")
    head, _, index = name.partition("_")
    if len(head) == 1 and index:
        return Formula(
            f'<msub><mi>{head}</mi><mi mathvariant="normal">{index}</mi></msub>', rf"{head}_{{\mathrm{{{index}}}}}"
        )
    if len(name) == 1:
        return Formula(f"<mi>{name}</mi>", name)
    text = name.replace("_", " ").strip()
    return Formula(f'<mi mathvariant="normal">{text}</mi>', rf"\mathrm{{{text.replace(' ', '~')}}}")


def _binary(node: ast.BinOp, outer: int) -> Formula:
    if isinstance(node.op, ast.Div):
        above, below = _formula(node.left, 0), _formula(node.right, 0)
        return Formula(
            f"<mfrac><mrow>{above.mathml}</mrow><mrow>{below.mathml}</mrow></mfrac>",
            rf"\frac{{{above.latex}}}{{{below.latex}}}",
        )
    if isinstance(node.op, ast.Pow):
        return _power(_formula(node.left, 5), _formula(node.right, 0))
    if type(node.op) not in _BINARY:
        raise _Unreadable
    strength, sign, latex = _BINARY[type(node.op)]
    left, right = _formula(node.left, strength), _formula(node.right, strength + 1)
    return _fenced(Formula(left.mathml + sign + right.mathml, left.latex + latex + right.latex), strength < outer)


def _power(base: Formula, exponent: Formula) -> Formula:
    return Formula(
        f"<msup><mrow>{base.mathml}</mrow><mrow>{exponent.mathml}</mrow></msup>",
        f"{{{base.latex}}}^{{{exponent.latex}}}",
    )


def _fenced(inner: Formula, needed: bool) -> Formula:
    if not needed:
        return inner
    return Formula(f"<mrow><mo>(</mo>{inner.mathml}<mo>)</mo></mrow>", rf"\left({inner.latex}\right)")


def _call(name: str, arguments: list[ast.expr], keywords: list[ast.keyword]) -> Formula:
    if any(isinstance(argument, ast.Starred) for argument in arguments) or not arguments:
        raise _Unreadable
    if name == "exact" and isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str):
        return Formula(f"<mn>{arguments[0].value}</mn>", arguments[0].value)
    if name == "exact":
        parts = [_formula(argument, 0) for argument in arguments]
        if len(parts) == 1:
            return parts[0]
        return Formula(
            f"<mfrac>{parts[0].mathml}{parts[1].mathml}</mfrac>", rf"\tfrac{{{parts[0].latex}}}{{{parts[1].latex}}}"
        )
    first, *others = arguments
    inner = _formula(first, 0)
    if name == "square":
        return _power(_formula(first, 5), Formula("<mn>2</mn>", "2"))
    if name == "power" and len(others) == 1:
        return _power(_formula(first, 5), _formula(others[0], 0))
    if name == "pseudo_inverse":
        return _power(_formula(first, 5), Formula("<mo>+</mo>", "+"))
    if name == "sqrt":
        return Formula(f"<msqrt>{inner.mathml}</msqrt>", rf"\sqrt{{{inner.latex}}}")
    below = "F" if name == "frobenius_norm" else "2" if name == "spectral_norm" else _of_norms(others)
    if name in _NORMS:
        below = f"S_{{{below or '2'}}}" if name == "schatten_norm" else below
        fenced = Formula(f"<mrow><mo>‖</mo>{inner.mathml}<mo>‖</mo></mrow>", rf"\left\|{inner.latex}\right\|")
        return _indexed(fenced, below)
    if name == "absolute":
        return Formula(f"<mrow><mo>|</mo>{inner.mathml}<mo>|</mo></mrow>", rf"\left|{inner.latex}\right|")
    mathml, latex = _NAMED.get(name, ("", ""))
    text = name.strip("_").replace("_", " ")
    head = Formula(
        f'<mi mathvariant="normal">{mathml or text}</mi>', latex or rf"\operatorname{{{text.replace(' ', '~')}}}"
    )
    shown = [inner]
    if name in ("diameter", "pairwise_distances", "mean_pairwise_distance", "largest_row_norm") and len(others) == 1:
        head = _indexed(head, below)
    elif not (name in ("amax", "amin", "mean", "total") and len(others) == 1):  # an axis says nothing to a reader
        shown += [_formula(argument, 0) for argument in others]
    for keyword in keywords:
        if keyword.arg not in ("axis", "like"):
            value = _formula(keyword.value, 0)
            label = _name(str(keyword.arg))
            shown.append(Formula(f"{label.mathml}<mo>=</mo>{value.mathml}", f"{label.latex} = {value.latex}"))
    return Formula(
        f"{head.mathml}<mrow><mo>(</mo>{'<mo>,</mo>'.join(one.mathml for one in shown)}<mo>)</mo></mrow>",
        rf"{head.latex}\left({', '.join(one.latex for one in shown)}\right)",
    )


def _of_norms(arguments: list[ast.expr]) -> str:
    """The index of a norm, or of an operator norm from one to another: as far as they are constants."""
    found = [_of_norm(argument) for argument in arguments]
    if len(found) == 2 and found != ["", ""]:
        return r" \to ".join(index or r"\cdot" for index in found)
    return found[0] if len(found) == 1 else ""


def _of_norm(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return _SUBSCRIPT.get(node.id, "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Lp" and len(node.args) == 1:
        return ast.unparse(node.args[0]).removeprefix("exact(").removesuffix(")").replace(", ", "/")
    return ""


def _indexed(base: Formula, below: str) -> Formula:
    if not below:
        return base
    sign = below.translate({ord(brace): None for brace in "{}_"})
    sign = sign.replace(r"\infty", "∞").replace(r"\to", "→").replace(r"\cdot", "·")
    return Formula(f"<msub>{base.mathml}<mn>{sign}</mn></msub>", f"{base.latex}_{{{below}}}")

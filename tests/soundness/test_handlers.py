"""In the core no error is turned into an answer: what is caught is said again, or stands in a list with its reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import resstream

PACKAGE = Path(resstream.__file__).parent
CORE = ["relations/*.py", "claim.py", "falsify/judge.py", "falsify/certify.py", "falsify/verdict.py"]
CORE += ["arithmetic/*.py", "prove/*.py"]

WIDE = {"Exception", "BaseException", "ArithmeticError", "ResstreamError", "ArithmeticLimit", "DomainError"}
WIDE |= {"NotExact", "NotExpressible", "Undecided", "Unbounded", "Undefined", "everything"}
"""What hides a limit of a number system, a value that does not exist, or a fault, if it is caught and not said."""

HANDLED = {
    "claim.py::words_of": "words alone: an exception that cannot be worded has only its name said",
    "claim.py::_assess_singly": "a screening in floats: the margin is NaN, which the judge looks at",
    "arithmetic/polynomials.py::_is_zero": "a coefficient that may be zero is not called zero",
    "falsify/judge.py::at_zero": "words alone: a ball that may be zero is not called zero",
    "falsify/judge.py::read": "the reading is undecided, or undefined, with the reason",
    "falsify/judge.py::_assumed": "a hypothesis without a value is undefined, with the reason",
    "falsify/judge.py::_concluded": "a conclusion without a value is undefined, with the reason",
    "prove/absence.py::none_meets": "nothing is proved of what the solver has no words for",
    "prove/goals.py::read": "what is raised is compared with what is raised when it is asked again",
    "prove/goals.py::prove_at": "no proof, with the reason",
    "prove/goals.py::_is_identity": "not for algebra: no proof by it",
    "prove/identity.py::prove_identity": "no proof, with the reason",
    "prove/identity.py::_hypotheses": "fewer conditions are known, so that less is proved",
    "prove/models.py::_seems_violated": "no candidate, and a candidate is certified or nothing",
    "prove/obligations.py::_by_solver": "without the solver an obligation stays unproved",
    "prove/obligations.py::_is_proved": "the obligation stays unproved",
    "prove/statement.py::instance": "a model without an instance refutes nothing",
    "relations/quantified.py::_is_member": "a witness of which it is not certain that it is a member settles nothing",
    "prove/vacuous.py::_without_instance": "no case is proved empty",
}


def caught(handler: ast.ExceptHandler) -> set[str]:
    """The names of what a handler catches."""
    if handler.type is None:
        return {"everything"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {kind.attr if isinstance(kind, ast.Attribute) else kind.id for kind in kinds}  # type: ignore[attr-defined]


def handlers(tree: ast.AST, function: str = "") -> Iterator[tuple[str, set[str], ast.AST, list[ast.stmt]]]:
    """Every handler below a node, `suppress` included: its function, what it catches, and what it does."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        if isinstance(node, ast.ExceptHandler):
            yield inside, caught(node), node, node.body
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "suppress":
                    yield inside, {ast.unparse(kind).split(".")[-1] for kind in call.args}, node, []
        yield from handlers(node, inside)


def _is_bool(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)


def complaints(name: str, source: str) -> tuple[list[str], set[str]]:
    """The bare handlers of a file; the functions of those that answer yes or no, or are wide and do not raise."""
    wrong, quiet = [], set()
    for function, kinds, node, body in handlers(ast.parse(source)):
        place = f"{name}::{function}"
        inside = [part for statement in body for part in ast.walk(statement)]
        if "everything" in kinds:
            wrong.append(f"{place}, line {node.lineno}: a bare except")  # type: ignore[attr-defined]
        answers = any(isinstance(part, ast.Return) and _is_bool(part.value) for part in inside)
        if answers or (kinds & WIDE and not any(isinstance(part, ast.Raise) for part in inside)):
            quiet.add(place)
    return wrong, quiet


def test_no_error_becomes_an_answer_in_the_core():
    files = sorted({path for pattern in CORE for path in PACKAGE.glob(pattern)})
    assert len(files) >= 15
    wrong, quiet = [], set()
    for path in files:
        found, handled = complaints(path.relative_to(PACKAGE).as_posix(), path.read_text())
        wrong += found
        quiet |= handled
    assert wrong == []
    assert quiet - set(HANDLED) == set(), "caught without a reason"
    assert set(HANDLED) - quiet == set(), "reasons for what is gone"


@pytest.mark.parametrize(
    ("code", "wrong", "quiet"),
    [
        ("try: g()\n  except: raise", 1, 0),
        ("try: g()\n  except Undecided: return False", 0, 1),
        ("try: g()\n  except (KeyError, errors.Undecided):\n   if x: return True\n   return None", 0, 1),
        ("try: g()\n  except Exception as e: raise ClaimFault from e", 0, 0),
        ("try: g()\n  except ValueError: return None", 0, 0),
        ("try: g()\n  except ValueError: return True", 0, 1),
        ("with contextlib.suppress(Undecided): g()", 0, 1),
        ("try: g()\n  except Exception: pass", 0, 1),
    ],
)
def test_the_walk_sees_them(code, wrong, quiet):
    found, handled = complaints("a.py", f"def f():\n  {code}\n")
    assert (len(found), len(handled)) == (wrong, quiet)
    assert handled <= {"a.py::f"}

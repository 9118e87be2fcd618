"""pytest plugin: every claim that a `test_*.py`, `claims_*.py` or `conftest.py` states is a test, named by its id.

It may stand at the top or in a class, under a name or under one that was given away again; in a `claims_*.py` also in
a list, a tuple, a set or a dictionary, which in a test module are data of its tests. A class with `__test__ = False` is
left out.

A claim expected to hold passes when a search with a budget of evaluations finds no counterexample; one expected to fail
passes when it is refuted. The report of a failure is the counterexample; that of an error is the line of the claim.
A statistical claim is tested by its draws, and its verdict says the level.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import pytest

# This module is imported by every pytest run beside an installed resstream, so the rest of it is imported when needed.
if TYPE_CHECKING:
    from resstream.claim import Claim
    from resstream.falsify.verdict import Verdict
    from resstream.statistical import StatisticalClaim

BUDGET = 20_000

SHOWN = 30
"""Claims above which the summary has a line for those only that did not do what they say, but with -v."""

_HERE = Path(__file__).parent
_PARAMETERS = ("lhs", "rhs", "conclusion", "where", "without", "expect", "budget", "seed")
"""What `parametrize` may vary of a claim, beside its sizes and the domains of its variables."""

_OF_DRAWS = ("expect", "budget", "seed")
"""What it may vary of a statistical claim, whose budget is its draws."""

_CONSTRUCTORS = ("__init__", "__new__")
_MET = pytest.StashKey[dict[str, tuple[str, str]]]()  # of a session: statement and place, by the id of a claim
_DONE = pytest.StashKey[set[int]]()  # of a collector: the claims that are collected
_OF_CLAIM = pytest.StashKey[bool]()  # of an item


# ---- options ----------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("resstream", "claims collected as tests")
    for name, metavar, text in (
        ("budget", "N", f"evaluations for a claim, whatever budget it states (default: its own, or {BUDGET})"),
        ("seed", "N", "seed of the search (default 0)"),
        ("seconds", "S", "limit in time for each claim (default none)"),
        ("save", "DIR", "write counterexamples into this directory"),
    ):
        group.addoption(f"--claim-{name}", metavar=metavar, help=text)
        parser.addini(f"claim_{name}", text)


def pytest_configure(config: pytest.Config) -> None:
    for name in ("budget", "seed", "seconds"):
        _number(config, name)
    for plugin in config.pluginmanager.get_plugins():
        _require_collected(config, plugin)


def _number(config: pytest.Config, name: str) -> float | None:
    """The number of an option, or of the ini file where it is not given; UsageError for what is none."""
    text, shown = config.getoption(f"--claim-{name}"), f"--claim-{name}"
    if text is None:
        text, shown = config.getini(f"claim_{name}"), f"claim_{name}"
    if not text:
        return None
    least, expected = {
        "budget": (1, "at least 1 evaluation"),
        "seed": (0, "a whole number of at least 0"),
        "seconds": (1e-3, "a number above 0"),
    }[name]
    try:
        value = float(text) if name == "seconds" else int(text)
    except ValueError:
        value = -1
    if not least <= value <= 1e18:
        raise pytest.UsageError(f"{shown}: expected {expected}, got {text!r:.40}")
    return value


def _require_collected(config: pytest.Config, plugin: object) -> None:
    """Refuse a module of fixtures (`pytest_plugins`, -p) with claims in it that nothing collects."""
    kinds, file = _claim_types(), getattr(plugin, "__file__", None)
    if not kinds or not isinstance(plugin, ModuleType) or file is None:
        return
    path = Path(file)
    inside = path.is_relative_to(config.rootpath) and "site-packages" not in path.parts
    if not inside or path.name == "conftest.py" or _collects_by_name(config, path) or path.is_relative_to(_HERE):
        return
    from resstream.claim import STATED

    stated = vars(plugin).get(STATED)
    if stated:
        raise pytest.UsageError(
            f"{path} is a plugin that states the claim {stated[0].id!r}, and is not collected: "
            "state claims in a claims_*.py, test_*.py or conftest.py"
        )


# ---- collecting -------------------------------------------------------------


def _collects_by_name(config: pytest.Config, path: Path) -> bool:
    by_pattern = any(path.match(pattern) for pattern in config.getini("python_files"))
    return by_pattern or (path.suffix == ".py" and path.name.startswith("claims_"))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    patterns = parent.config.getini("python_files")
    if parent.session.isinitpath(file_path) or any(file_path.match(pattern) for pattern in patterns):
        return None  # pytest collects it anyway
    module: pytest.Module
    if file_path.suffix == ".py" and file_path.name.startswith("claims_"):
        module = pytest.Module.from_parent(parent, path=file_path)
        return module
    if file_path.name == "conftest.py" and _claim_types():
        from resstream.claims import stated_by

        plugins = parent.config.pluginmanager.get_plugins()
        loaded = [one for one in plugins if isinstance(one, ModuleType) and one.__file__ == str(file_path)]
        if any(stated_by(one, kind) for one in loaded for kind in _claim_types()):
            module = ClaimsModule.from_parent(parent, path=file_path)
            return module
    return None


def _claims_only(found: Iterable[Any]) -> list[Any]:
    return [one for one in found if isinstance(one, ClaimsClass) or _OF_CLAIM in one.stash]


class ClaimsModule(pytest.Module):
    """A module that is no test module (conftest.py): its claims are collected, and nothing else of it."""

    def collect(self) -> list[Any]:
        return _claims_only(super().collect())


class ClaimsClass(pytest.Class):
    """A class that is no test class and states claims: they are collected, and nothing else of it."""

    def collect(self) -> list[Any]:
        return _claims_only(super().collect())


def _claim_types() -> tuple[type[Any], ...]:
    """The classes of claims that anybody has imported; no claim exists where nobody has."""
    homes = (("resstream.claim", "Claim"), ("resstream.statistical", "StatisticalClaim"))
    return tuple(getattr(sys.modules[module], name) for module, name in homes if hasattr(sys.modules.get(module), name))


def _is_searched(claim: object) -> bool:
    """Whether a claim is searched for counterexamples, and not tested by draws."""
    return isinstance(claim, _claim_types()[:1])


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    kinds = _claim_types()
    if not kinds:
        return None
    if isinstance(obj, type):
        return _class(collector, name, obj, kinds)
    claims = [claim for kind in kinds for claim in _claims_in(collector, name, obj, kind)]
    if not claims:
        return None
    return [item for claim in claims for item in _items(collector, name, claim)]


def _claims_in(collector: Any, name: str, obj: object, kind: type[Any]) -> list[Any]:
    """The claims of a kind of one attribute of a module or a class, those included whose name was given to another."""
    from resstream import claims
    from resstream.claim import STATED

    if issubclass(type(obj), kind):
        lost = claims.unnamed(collector.module, kind) if isinstance(collector, pytest.Class) else []
        return [obj, *(one for one in lost if _scope(one) == collector.obj.__qualname__)]
    of_claims = collector.path.name.startswith("claims_")
    if name == STATED:
        lost = [one for one in claims.unnamed(collector.module, kind) if not _scope(one)]
        return lost if of_claims else [one for one in lost if one.__name__ != "<lambda>"]
    if not of_claims:  # what the lists of a test module hold is data of its tests
        return []
    held = claims.held(obj, collector.module.__name__, kind)
    own = {**claims.library(), **claims.statistical()} if held else {}
    return [one for one in held if own.get(one.id) is not one]


def _scope(claim: Claim) -> str:
    """The class whose body states a claim; empty at the top of a module."""
    return str(getattr(claim.conclusion, "__qualname__", "")).rpartition(".")[0]


def _class(collector: Any, name: str, cls: type, kinds: tuple[type[Any], ...]) -> ClaimsClass | None:
    """A collector of the claims that a class states, where pytest itself makes none."""
    stated = [
        claim.id
        for base in cls.__mro__
        for claim in vars(base).values()
        if issubclass(type(claim), kinds) and _scope(claim) == base.__qualname__
    ]
    if not stated or not getattr(cls, "__test__", True):
        return None
    reason = "is abstract" if inspect.isabstract(cls) else ""
    for constructor in _CONSTRUCTORS:
        if getattr(cls, constructor) is not getattr(object, constructor):
            reason = f"has a constructor, {constructor}"
    if reason:
        raise collector.CollectError(f"{collector.path}: class {name} states the claim {stated[0]!r}, and {reason}")
    only_claims = isinstance(collector, (ClaimsModule, ClaimsClass))
    if collector.istestclass(cls, name) and not only_claims:
        return None
    if cls.__module__ != collector.module.__name__:  # imported: its own module is the place
        return None
    made: ClaimsClass = ClaimsClass.from_parent(collector, name=name, obj=cls)
    return made


def _items(collector: Any, name: str, claim: Claim) -> list[pytest.Item]:
    """The tests of a claim: one, or as many as `parametrize` asks for; pytest makes them, as of a test function."""
    done = collector.stash.setdefault(_DONE, set())
    if id(claim) in done:
        return []
    done.add(id(claim))
    path, line = _place(collector, name, claim)
    _require_one(collector, claim, f"{path}:{line}")
    marks = [*_marks(claim.conclusion), *_marks(claim)]
    names = _parametrized(collector, claim, marks)
    test: Any = _test_of(claim, names, path, line)
    test.pytestmark = marks
    test.__test__ = True  # whatever its name
    # pytest looks a test up in its module or class by name, and keeps what it finds.
    holder, before = collector.obj, vars(collector.obj).get(claim.id)
    setattr(holder, claim.id, staticmethod(test) if isinstance(holder, type) else test)
    try:
        items = collector.ihook.pytest_pycollect_makeitem(collector=collector, name=claim.id, obj=test) or []
    finally:
        if before is None:
            delattr(holder, claim.id)
        else:
            setattr(holder, claim.id, before)
    for item in items:
        item.stash[_OF_CLAIM] = True
        # As pytest would say it, but that the dots of an id do not stand for classes.
        item.reportinfo = functools.partial(_reportinfo, path, line, item.name)
    return list(items)


def _reportinfo(path: str, line: int, name: str) -> tuple[str, int, str]:
    return path, line - 1, f"claim {name}"


def _hidden(raised: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether frames of this module are left out of a traceback: where there are lines of a claim to be shown."""
    return not isinstance(raised.value, pytest.fail.Exception)


def _place(collector: Any, name: str, claim: Claim) -> tuple[str, int]:
    """The file and the line that state a claim: those of its function, or where a name is given to a modified one."""
    code = getattr(inspect.unwrap(claim.conclusion), "__code__", None)
    if code is not None and not Path(code.co_filename).is_relative_to(_HERE / "claim.py"):
        return code.co_filename, code.co_firstlineno
    try:
        tree = ast.parse(collector.path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return str(collector.path), 1
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(isinstance(at, ast.Name) and at.id == name for at in node.targets)
    ]
    return str(collector.path), lines[-1] if lines else 1


def _require_one(collector: Any, claim: Claim, place: str) -> None:
    """Refuse a second claim of the same id: memory, saved files and reports are by id, and one would hide the other."""
    from resstream.falsify.variants import statement

    met = collector.session.stash.setdefault(_MET, {})
    stated, first = met.setdefault(claim.id, (statement(claim), place))
    if stated != statement(claim):
        raise collector.CollectError(f"{collector.path}: two claims {claim.id!r}: {first} and {place}")


def _marks(obj: object) -> list[pytest.Mark]:
    marks: Any = getattr(obj, "pytestmark", [])
    listed: list[Any] = marks if isinstance(marks, list) else [marks]
    return [one.mark if isinstance(one, pytest.MarkDecorator) else one for one in listed]


def _parametrized(collector: Any, claim: Claim, marks: Sequence[pytest.Mark]) -> list[str]:
    """The names that marks on the claim, its class or its module ask to vary; CollectError for what it has not."""
    names: list[str] = []
    for mark in (*marks, *collector.iter_markers("parametrize")):
        if mark.name == "parametrize":
            given = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
            names += [one.strip() for one in (given.split(",") if isinstance(given, str) else given)]
    known = (*claim.size_ranges(), *claim.over, *_PARAMETERS) if _is_searched(claim) else _OF_DRAWS
    for one in names:
        if one not in known:
            raise collector.CollectError(
                f"{collector.path}: claim {claim.id}: parametrize: expected some of {', '.join(known)}, got {one!r}"
            )
    return list(dict.fromkeys(name for name in names if name))


# ---- running ----------------------------------------------------------------


def _test_of(claim: Claim, names: Sequence[str], path: str, line: int) -> FunctionType:
    """A test function of the parameters named, which pytest takes for one that stands where the claim does."""

    run: Any = _search if _is_searched(claim) else _draw

    def test(request: pytest.FixtureRequest, **arguments: Any) -> None:
        __tracebackhide__ = _hidden
        run(request.node, claim, arguments)

    test.__code__ = test.__code__.replace(co_filename=path, co_firstlineno=line)
    wanted = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("request", *names)]
    test.__signature__ = inspect.Signature(wanted)  # type: ignore[attr-defined]
    return test  # type: ignore[return-value]


def _draw(item: pytest.Item, claim: StatisticalClaim, arguments: dict[str, Any]) -> None:
    """Test a statistical claim by draws, note the verdict with its level, and fail where it is not as expected."""
    __tracebackhide__ = _hidden
    from resstream.errors import ResstreamError
    from resstream.falsify.statistical import by_draws

    seed, refused = arguments.get("seed"), ""
    try:
        verdict = by_draws(
            dataclasses.replace(claim, expect=arguments.get("expect") or claim.expect),
            arguments.get("budget"),
            int(_number(item.config, "seed") or 0) if seed is None else seed,
            seconds=_number(item.config, "seconds"),
        )
    except ResstreamError as error:
        refused = f"{item.name}: {error}"
    if refused:
        pytest.fail(refused, pytrace=False)
    seen = {"claim": claim.id, "verdict": verdict.verdict, "expected": verdict.claim.expect, "met": verdict.draws}
    seen |= {"undecided": verdict.undecided, "margin": None, "evaluations": verdict.draws, "seed": verdict.seed}
    item.user_properties += seen.items()
    if not verdict.as_expected:
        said = f"{item.name}: {verdict.verdict}, expected it {verdict.claim.expect}"
        pytest.fail(f"{said}\n{verdict}", pytrace=False)


def _search(item: pytest.Item, claim: Claim, arguments: dict[str, Any]) -> None:
    """Search for a counterexample, note what was seen, and fail where the claim does not do what it says."""
    __tracebackhide__ = _hidden
    from resstream.errors import ResstreamError
    from resstream.falsify.memory import DIRECTORY
    from resstream.falsify.report import verdict_text
    from resstream.falsify.run import falsify
    from resstream.falsify.verdict import ERROR

    config, refused = item.config, ""
    budget = arguments.get("budget") or (None if config.getoption("--claim-budget") else claim.budget)
    seed = arguments.get("seed")
    try:
        verdict = falsify(
            _varied(_with_origin(claim, item.path), arguments),
            budget or int(_number(config, "budget") or BUDGET),
            int(_number(config, "seed") or 0) if seed is None else seed,
            seconds=_number(config, "seconds"),
            memory=config.rootpath / DIRECTORY,
            save=config.getoption("--claim-save") or config.getini("claim_save") or None,
        )
    except ResstreamError as error:
        refused = f"{item.name}: {error}"
    if refused:
        pytest.fail(refused, pytrace=False)
    item.user_properties += _properties(verdict)
    if verdict.as_expected:
        return
    said = f"{item.name}: {verdict.status}, expected it {verdict.claim.expect}"
    if verdict.status == ERROR:
        _raise_of_user(verdict, f"{said}\n{verdict_text(verdict)}")
    shown = [str(verdict.counterexample)] if verdict.counterexample else []
    pytest.fail("\n".join([said, *shown, verdict_text(verdict)]), pytrace=False)


def _with_origin(claim: Claim, path: Path) -> Claim:
    """The claim with the file that states it, unless it is known where it can be had again."""
    from resstream.falsify.variants import origin_of, with_origin

    if origin_of(claim):
        return claim
    code = getattr(inspect.unwrap(claim.conclusion), "__code__", None)
    stating = Path(code.co_filename) if code else path
    return with_origin(claim, path if not stating.is_file() or stating.is_relative_to(_HERE) else stating)


def _varied(claim: Claim, arguments: dict[str, Any]) -> Claim:
    """The claim as the parameters of a test ask for: by text, so that a counterexample can be had again from a file."""
    from resstream.falsify.variants import vary

    given = {name: value for name, value in arguments.items() if value is not None}
    stated = {name: given[name] for name in ("lhs", "rhs", "conclusion", "where") if name in given}
    dropped = given.get("without", ())
    varied = vary(
        claim,
        **stated,
        without=(dropped,) if isinstance(dropped, str) else tuple(dropped),
        over={name: str(given[name]) for name in claim.over if name in given},
        sizes={name: _size(given[name]) for name in claim.size_ranges() if name in given and name not in claim.over},
    )
    return dataclasses.replace(varied, expect=given["expect"]) if "expect" in given else varied


def _size(value: Any) -> str:
    return f"{value[0]}:{value[-1]}" if isinstance(value, range) and value.step == 1 and value else str(value)


def _properties(verdict: Verdict) -> list[tuple[str, object]]:
    """What JUnit files and the summary show of a verdict."""
    tally = verdict.tally
    return [
        ("claim", verdict.claim.id),
        ("verdict", verdict.status),
        ("expected", verdict.claim.expect),
        ("met", tally.accepted),
        ("undecided", tally.undecided + tally.undefined),
        ("margin", None if tally.smallest_margin == float("inf") else tally.smallest_margin),
        ("evaluations", tally.evaluations),
        ("seed", verdict.seed),
    ]


def _raise_of_user(verdict: Verdict, said: str) -> None:
    """Raise what the claim's own code raised, with its own lines alone; what cannot be had again is said in words."""
    __tracebackhide__ = _hidden
    from resstream.errors import ClaimFault
    from resstream.falsify.certify import certify

    cause: BaseException | None = None
    if verdict.tally.faulty is not None:
        for read in (lambda raw: verdict.claim.assess(raw.batch()), lambda raw: certify(verdict.claim, raw)):
            try:
                read(verdict.tally.faulty)
            except ClaimFault as fault:
                cause = fault.__cause__
                break
            except Exception:  # no fault of the claim's own: the words of the verdict are what is left to say
                continue
    if cause is None:
        pytest.fail(said, pytrace=False)
    cause.add_note(said)
    cause.__cause__ = None
    raise cause.with_traceback(_own_lines(cause.__traceback__)) from None


def _own_lines(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of resstream, unless there are no others."""
    frames: list[TracebackType] = []
    at = traceback
    while at is not None:
        if not Path(at.tb_frame.f_code.co_filename).is_relative_to(_HERE):
            frames.append(at)
        at = at.tb_next
    following = None
    for one in reversed(frames):
        following = TracebackType(following, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return following or traceback


# ---- the summary ------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = list(_rows(terminalreporter.stats))
    if not rows:
        return
    terminalreporter.section("claims")
    from resstream.falsify.verdict import does_as_expected

    wrong = [row for row in rows if not does_as_expected(row["expected"], row["verdict"])]
    verbose = terminalreporter.config.get_verbosity()
    shown = rows if verbose > 0 or (len(rows) <= SHOWN and verbose == 0) else wrong
    if shown:
        width = max(len(row["test"]) for row in shown)
        terminalreporter.write_line(f"{'claim':<{width}}  verdict         met  undecided     margin  evaluations")
    for row in shown:
        margin = "" if row["margin"] is None else f"{row['margin']:.2g}"
        terminalreporter.write_line(
            f"{row['test']:<{width}}  {row['verdict']:<9}  {row['met']:>8,}  {row['undecided']:>9,}  {margin:>9}  "
            f"{row['evaluations']:>11,}{'   not as expected' if row in wrong else ''}"
        )
    verdicts = [row["verdict"] for row in rows]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    met, undecided = (sum(row[name] for row in rows) for name in ("met", "undecided"))
    terminalreporter.write_line(
        f"{len(rows)} claims: {counted}; {len(wrong)} not as expected, {met:,} instances met their hypotheses, "
        f"{undecided:,} could not be decided; seed {seeds}"
    )


def _rows(stats: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The properties of the claims among the reports, also of those that other processes sent."""
    for report in (one for reports in stats.values() for one in reports):
        properties = dict(getattr(report, "user_properties", ()))
        if getattr(report, "when", "") == "call" and {"claim", "verdict", "evaluations"} <= set(properties):
            yield {**properties, "test": report.nodeid.rpartition("::")[2]}

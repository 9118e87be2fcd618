"""How many faults the tests notice: every mutant of the modules named is run against the tests that concern them.

python benchmarks/mutants.py                                 every mutant of every module below
python benchmarks/mutants.py resstream/reference             those of a directory or a file
python benchmarks/mutants.py resstream/reference --sample 60 --rings 1 --at-least 90     what CI runs

A mutant changes one thing: an arithmetic operator, a comparison, a number (constants, axes, indices), a sign, `and` or
`or`, a condition turned round, a statement dropped (a call, a second assignment, a raise), a result not returned.
Texts, annotations, decorators and what an error says are left alone.

It is noticed if a test fails, or takes more than the limit of processor time. There are three rings: the module's own
tests, with the fault planted into functions that are there (`benchmarks/planted.py`); the same afresh; and what else
concerns it, with the claims of the library whose evaluation runs its code, on the quick profile. Whatever one ring
leaves is asked in the next. What none notices is a survivor: `benchmarks/mutants.json` lists those that no test can
notice, with the reason; the score leaves them out.

`--record` keeps the counts of the files asked in `benchmarks/mutants-scores.json` and shows them in docs/trust.md.
`--after OUTPUT` believes an earlier run what it noticed, and asks again what it did not: where tests were added since,
and none was taken away.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.util
import json
import math
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any

from planted import UNPLANTED, Planting, in_a_fork

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_suffix(".json")
SCORES = EQUIVALENT.with_name("mutants-scores.json")
PAGE = ROOT / "docs" / "trust.md"

ODD = "tests/soundness/test_odd_arguments.py"
"""Tests of which those that are called after a module are its own."""

GATE = "tests/properties/test_reference_gate.py tests/properties/test_reference_inputs.py"
"""Every array of every function of the reference through its gate, and what else may be given to it."""

ARITHMETIC_TESTS = "tests/properties/test_arithmetic*.py tests/soundness/test_entries.py tests/symbolic/test_reading.py"

CONCERNS: dict[str, list[str]] = {
    "resstream/reference/*.py": [
        f"tests/properties/test_reference_{{stem}}.py {GATE} {ODD}",
        "tests/properties/test_reference_checks.py",
    ],
    **{
        f"resstream/reference/{stem}.py": [
            f"tests/properties/{own}.py {GATE} {ODD}",
            "tests/properties/test_reference_checks.py",
        ]
        for stem, own in {
            "decomposition": "test_reference_transformer",
            "folding": "test_reference_transformer",
            "mlp": "test_reference_blocks",
            "distributions": "test_vocabulary",
            "enclosing": "test_enclosing",
            "nearest": "test_enclosing",
            "ordering": "test_vocabulary",
        }.items()
    },
    **{
        f"resstream/reference/{stem}.py": [
            f"tests/properties/test_reference_{stem}.py tests/properties/test_vocabulary.py {GATE} {ODD}",
            "tests/properties/test_reference_checks.py",
        ]
        for stem in ("activations", "norms", "smoothing", "spectrum")
    },
    "resstream/arithmetic/*.py": ["tests/properties/test_arithmetic_{stem}.py", ARITHMETIC_TESTS],
    "resstream/arithmetic/__init__.py": [
        "tests/properties/test_arithmetic.py tests/properties/test_arithmetic_functions.py",
        ARITHMETIC_TESTS,
    ],
    **{
        f"resstream/arithmetic/{stem}.py": [
            "tests/properties/test_arithmetic_entries.py tests/soundness/test_entries.py "
            "tests/properties/test_arithmetic.py tests/properties/test_arithmetic_functions.py",
            ARITHMETIC_TESTS,
        ]
        for stem in ("balls", "entries", "rationals")
    },
    "resstream/arithmetic/layout.py": ["tests/properties/test_arithmetic_functions.py", ARITHMETIC_TESTS],
    "resstream/arithmetic/obligations.py": ["tests/properties/test_arithmetic_unknowns.py", ARITHMETIC_TESTS],
    "resstream/relations/*.py": ["tests/properties/test_relations*.py", "tests/properties/test_judge.py"],
    "resstream/relations/base.py": [
        "tests/properties/test_relations.py",
        "tests/properties/test_relations_compound.py",
    ],
    "resstream/relations/growth.py": ["tests/properties/test_relations_growth.py", "tests/properties/test_growth.py"],
    "resstream/relations/quantified.py": [
        "tests/properties/test_quantified.py",
        "tests/properties/test_relations*.py",
    ],
    "resstream/claim.py": [
        "tests/properties/test_claim.py",
        "tests/properties/test_sizes.py tests/properties/test_packs.py tests/properties/test_growth.py",
    ],
    "resstream/domains*": ["tests/properties/test_domains*.py"],
    **{
        f"resstream/domains/{stem}.py": [f"tests/properties/{own}.py", "tests/properties/test_domains*.py"]
        for stem, own in {
            "base": "test_domains_base",
            "cubature": "test_domains_cubature",
            "current": "test_domains_current",
            "expectation": "test_expectation",
            "finite": "test_quantified.py tests/properties/test_expectation",
            "invertible": "test_domains_invertible.py tests/properties/test_prove_pieces",
            "laws": "test_domains_laws",
            "matrices": "test_domains_matrices",
            "models": "test_domains_models",
            "norms": "test_domains_norms.py tests/properties/test_prove_pieces",
            "orthogonal": "test_domains_orthogonal",
            "pieces": "test_domains_pieces",
            "projections": "test_domains_projections",
            "scalars": "test_domains_scalars",
            "sizes": "test_domains_sizes",
            "trial": "test_domains_trial",
            "triangular": "test_domains_triangular",
        }.items()
    },
    "resstream/falsify/judge.py": ["tests/properties/test_judge*.py", "tests/soundness/test_tricks.py"],
    "resstream/falsify/verdict.py": ["tests/properties/test_verdict.py", "tests/soundness/test_tricks.py"],
    "resstream/falsify/certify.py": ["tests/properties/test_certify*.py", "tests/properties/test_judge*.py"],
    "resstream/prove/*.py": [
        "tests/properties/test_prove_{stem}.py tests/properties/test_prove_obligations.py",
        "tests/properties/test_prove*.py tests/properties/test_audit_prove.py",
    ],
    "resstream/prove/absence.py": ["tests/properties/test_absence.py", "tests/properties/test_quantified.py"],
    "resstream/prove/algebra.py": [
        "tests/symbolic/test_algebra.py tests/properties/test_prove_obligations.py",
        "tests/properties/test_prove_fuzz.py",
    ],
    "resstream/prove/obligations.py": [
        "tests/properties/test_prove_signs.py tests/properties/test_prove_obligations.py",
        "tests/properties/test_prove_fuzz.py",
    ],
    "resstream/prove/solve.py": [
        "tests/properties/test_prove_solve.py tests/properties/test_audit_smt.py",
        "tests/properties/test_prove*.py tests/properties/test_audit_prove.py",
    ],
}
"""The modules whose mutants are made, and the tests of each, its own first: patterns of files ({stem} is its name).

Where two keys fit a module the later counts. Several patterns with spaces between are asked together.
"""

TRUSTED = [
    "resstream/arithmetic",
    "resstream/relations",
    "resstream/claim.py",
    "resstream/falsify/certify.py",
    "resstream/falsify/judge.py",
    "resstream/falsify/verdict.py",
    "resstream/prove",
    "resstream/reference",
]
"""What a verdict rests on, and what claims speak of: all of it is to be on record."""


# ---- mutants ----------------------------------------------------------------

ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
COMPARISONS: dict[type, list[type]] = {
    ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.GtE], ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is], ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one module: where it is (file, function, line), and what stands there before and after."""

    file: str
    function: str
    line: int
    before: str
    after: str
    occurrence: int
    """Which one, of several changes of one function that read alike."""
    number: int
    """Which one of all mutants of the file."""

    @property
    def key(self) -> str:
        """Names the mutant whatever line it stands in."""
        again = f" #{self.occurrence}" if self.occurrence else ""
        return f"{self.file}::{self.function}: {self.before} -> {self.after}{again}"


def _changes(node: ast.AST, assigned: set[str]) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    if isinstance(node, ast.BinOp):
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield ast.Compare(node.left, [*node.ops[:place], other(), *node.ops[place + 1 :]], node.comparators)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
        elif isinstance(node.value, float):
            yield ast.Constant(2 * node.value + 1)
    elif isinstance(node, (ast.If, ast.While)) and not _is_for_types(node.test):
        yield type(node)(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Return) and not _is_nothing(node.value):
        yield ast.Return(ast.Constant(None))
    elif _may_be_dropped(node, assigned):
        yield ast.Pass()


def _is_for_types(condition: ast.expr) -> bool:
    """Whether it is `TYPE_CHECKING`: what is imported so is for annotations, which are left alone."""
    return isinstance(condition, ast.Name) and condition.id == "TYPE_CHECKING"


def _is_nothing(value: ast.expr | None) -> bool:
    """Whether no result is as good: None itself, and False, which is made True instead."""
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, False))


def _may_be_dropped(node: ast.AST, assigned: set[str]) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):  # the name keeps what it had before
        return all(isinstance(target, ast.Name) and target.id in assigned for target in node.targets)
    return isinstance(node, (ast.AugAssign, ast.Raise, ast.Continue, ast.Break))


_UNTOUCHED = {"annotation", "returns", "decorator_list", "exc", "cause", "type_params"}


def _places(node: ast.AST, function: str, assigned: set[str]) -> Iterator[tuple[ast.AST, str, Any, str, set[str]]]:
    """Every (parent, field, index, function, names assigned before) of the nodes under one, in order."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        function = f"{function}.{node.name}" if function else node.name
        assigned = (
            {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
            if isinstance(node, ast.FunctionDef)
            else set()
        )
    for field, value in ast.iter_fields(node):
        if field in _UNTOUCHED or isinstance(node, ast.JoinedStr):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Import, ast.ImportFrom)):
                continue
            yield node, field, index, function, set(assigned)
            yield from _places(child, function, assigned)
            if isinstance(child, ast.Assign):
                assigned |= {t.id for t in child.targets if isinstance(t, ast.Name)}


def _child(parent: ast.AST, field: str, index: Any) -> ast.AST:
    value = getattr(parent, field)
    return value if index is None else value[index]


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a file."""
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for parent, field, index, function, assigned in _places(ast.parse(source), "", set()):
        node = _child(parent, field, index)
        for changed in _changes(node, assigned):
            before, after = (_shown(ast.unparse(ast.fix_missing_locations(copy.deepcopy(n)))) for n in (node, changed))
            change = f"{function}: {before} -> {after}"
            found.append(
                Mutant(
                    file, function or "(module)", getattr(node, "lineno", 0), before, after, seen[change], len(found)
                )
            )
            seen[change] += 1
    return found


def _shown(code: str) -> str:
    lines = code.splitlines()
    return lines[0] if len(lines) == 1 else f"{lines[0]} ..."


def mutated(source: str, mutant: Mutant) -> CodeType:
    """The code of the file with that change."""
    tree, number = ast.parse(source), 0
    for parent, field, index, _, assigned in _places(tree, "", set()):
        for changed in _changes(_child(parent, field, index), assigned):
            if number == mutant.number:
                if index is None:
                    setattr(parent, field, changed)
                else:
                    getattr(parent, field)[index] = changed
                return compile(ast.fix_missing_locations(tree), str(ROOT / mutant.file), "exec")
            number += 1
    raise LookupError(mutant.key)


# ---- running the tests on one -----------------------------------------------


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Gives changed code for one module; everything else is imported as it is."""

    def __init__(self, module: str, file: Path, code: CodeType) -> None:
        self.module, self.file, self.code = module, file, code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name != self.module:
            return None
        packages = [str(self.file.parent)] if self.file.name == "__init__.py" else None
        locate = importlib.util.spec_from_file_location
        return locate(name, self.file, loader=self, submodule_search_locations=packages)  # type: ignore[arg-type]

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.code

    def get_source(self, fullname: str) -> str:  # noqa: ARG002
        return self.file.read_text()


def module_of(file: str) -> str:
    """The dotted name of a file."""
    return ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")


def _run(file: str, arguments: Sequence[str], *plugins: object) -> int:
    """pytest in this process, silently, for a file of the package: 0 where everything passed."""
    import pytest

    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants"]
        # Modules that were imported to be forked from are too late for pytest to rewrite, which does not matter here.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        # Without tests of shrinking, which the profile leaves out, and with the odd arguments of that file's functions.
        options += ["-k", f"not shrinks_to and (not {Path(ODD).stem} or {Path(file).stem})"]
        return int(pytest.main([*options, *arguments], plugins=plugins))


def _in_child(file: str, mutant: Mutant | None, tests: Sequence[str]) -> int:
    """What a forked child does: plant the fault (or none, as cleanly), run the tests, answer with the status."""
    os.chdir(ROOT)
    path = ROOT / file
    source = path.read_text()
    code = compile(source, str(path), "exec") if mutant is None else mutated(source, mutant)
    sys.meta_path.insert(0, _Planted(module_of(file), path, code))
    try:
        importlib.import_module(module_of(file))
    except BaseException:
        return 1
    return _run(file, tests)


@dataclass
class _Running:
    task: int
    started: float


def run_all(tasks: Sequence[Callable[[], int]], seconds: float, workers: int) -> list[tuple[int, float]]:
    """(status, seconds) of every task, each in a fork: 0 passed, 1 failed, others as they are, -1 over the limit."""
    results: list[tuple[int, float]] = [(0, 0.0)] * len(tasks)
    running: dict[int, _Running] = {}
    waiting = iter(range(len(tasks)))
    done = 0
    while True:
        while len(running) < workers and (task := next(waiting, None)) is not None:
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                os.setpgid(0, 0)
                limit = int(seconds) + 1
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
                status = 1
                try:
                    status = tasks[task]()
                finally:
                    os._exit(status)
            running[pid] = _Running(task, time.monotonic())
        if not running:
            return results
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            for late, entry in running.items():  # a child that waits uses no processor time
                if time.monotonic() - entry.started > 20 * seconds + 60:
                    os.killpg(late, 9)
            time.sleep(0.02)
            continue
        entry = running.pop(pid)
        code = -1 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        results[entry.task] = (code, time.monotonic() - entry.started)
        done += 1
        if done % 50 == 0:
            print(f"  {done}/{len(tasks)}", file=sys.stderr)


SURVIVED, NOT_ASKED = "survived", "not asked"
"""What no test noticed; and what cannot be planted into what is there and was not asked afresh, which is not scored."""

WHOLE_FILE = 1e6
"""Seconds for all mutants of a file: the limit is that of each."""


def _ask_in_place(
    drawn: Sequence[Mutant],
    outcomes: dict[str, str],
    tests: dict[str, list[list[str]]],
    seconds: float,
    workers: int,
    quick: float,
) -> None:
    """Ask every file's own tests about its mutants, several files at once where there are; `outcomes` is brought up."""
    left = [m for m in drawn if outcomes[m.key] in (SURVIVED, NOT_ASKED)]
    asked = {file: [m for m in left if m.file == file] for file, (own, *_) in tests.items() if own}
    asked = {file: own for file, own in asked.items() if own}
    print(f"in place: {sum(map(len, asked.values()))} mutants of {len(asked)} files", file=sys.stderr)
    at_once = max(1, min(workers, len(asked)))
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        answers = {file: Path(directory, f"{number}.json") for number, file in enumerate(asked)}

        def task(file: str) -> int:
            found = in_place(file, asked[file], tests[file][0], seconds, workers // at_once, quick)
            answers[file].write_text(json.dumps(found))
            return 0

        run_all([partial(task, file) for file in asked], WHOLE_FILE, at_once)
        for file, answer in answers.items():
            if not answer.exists():
                raise SystemExit(f"the tests of {file} cannot be run in place: {' '.join(tests[file][0])}")
            for mutant, status in zip(asked[file], json.loads(answer.read_text()), strict=True):
                if status == UNPLANTED:
                    outcomes[mutant.key] = NOT_ASKED
                elif status != 0:
                    outcomes[mutant.key] = _noticed(status, "own tests")


def in_place(
    file: str, drawn: Sequence[Mutant], tests: Sequence[str], seconds: float, workers: int, quick: float
) -> list[int]:
    """The status of every mutant of one file, planted into what is already there."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        answers, source = Path(directory, "answers"), (ROOT / file).read_text()

        def work() -> None:
            importlib.import_module(module_of(file))
            changes = [partial(mutated, source, mutant) for mutant in drawn]
            every = partial(run_all, seconds=seconds, workers=workers)
            _run(file, tests, Planting(ROOT / file, changes, every, answers, quick))

        if in_a_fork(work) != 0 or not answers.exists():
            raise SystemExit(f"the tests of {file} cannot be run in place: {' '.join(tests)}")
        statuses: list[int] = json.loads(answers.read_text())
        return statuses


# ---- which tests ------------------------------------------------------------


def modules(chosen: Sequence[str]) -> dict[str, list[list[str]]]:
    """The files whose mutants are made, each with the files of tests of every pattern that concerns it.

    `chosen` are files or directories, all where empty.
    """
    found: dict[str, list[list[str]]] = {}
    for pattern, tests in CONCERNS.items():
        for path in sorted(ROOT.glob(pattern)):
            for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                name = str(file.relative_to(ROOT))
                if not chosen or any(Path(name).is_relative_to(c) for c in chosen):
                    rings = [ring.format(stem=file.stem).split() for ring in tests]
                    globs = [sorted(hit for pattern in ring for hit in ROOT.glob(pattern)) for ring in rings]
                    found[name] = [[str(hit.relative_to(ROOT)) for hit in hits] for hits in globs]
    return found


MOST_CLAIMS = 16
"""Claims of the library that a mutant is tried on: what every claim runs would else be tried on all of them."""


def claims_that_use(files: Sequence[str]) -> dict[str, list[str]]:
    """For each file the tests of the claims whose evaluation runs code of it."""
    from resstream import claims
    from resstream.claims.usage import files_used

    tests: dict[str, list[str]] = {file: [] for file in files}
    for identifier, claim in claims.library().items():
        for file in files_used(claim):
            name = str(Path(file).relative_to(ROOT)) if Path(file).is_relative_to(ROOT) else file
            if name in tests and len(tests[name]) < MOST_CLAIMS:
                tests[name].append(f"tests/properties/test_claims.py::test_claim_does_what_it_says[{identifier}]")
    return tests


def _asked_in_a_child(files: Sequence[str]) -> dict[str, list[str]]:
    """`claims_that_use`, in a child: this process must never import the package, which its children change."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        answer = Path(directory, "answer")
        if in_a_fork(lambda: answer.write_text(json.dumps(claims_that_use(files)))) != 0:
            raise SystemExit("the claims could not be evaluated: see the message above")
        text = answer.read_text()
    found: dict[str, list[str]] = json.loads(text)
    return found


# ---- the report -------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="files or directories; everything by default")
    parser.add_argument("--sample", type=int, help="that many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=40.0, help="limit in processor time for each mutant and ring")
    parser.add_argument("--at-least", type=float, default=0.0, help="exit with 1 where the score in per cent is lower")
    parser.add_argument("--rings", type=int, default=3, choices=(1, 2, 3), help="how many to ask: fewer are quicker")
    parser.add_argument("--quick", type=float, default=math.inf, help="tests that take longer are left to later rings")
    parser.add_argument("--output", type=Path, help="every mutant with its outcome, as JSON")
    parser.add_argument("--after", type=Path, help="an earlier output: what was noticed then is not asked again")
    parser.add_argument("--record", action="store_true", help="keep the counts, and show them in docs/trust.md")
    options = parser.parse_args()
    if options.record and (options.sample is not None or options.rings == 1):
        parser.error("--record: expected every mutant, asked in two rings at least, without --sample")
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["RESSTREAM_PROFILE"] = "quick"
    storage = tempfile.TemporaryDirectory(prefix="mutants-")  # of what Hypothesis reads of the code: once for all
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = storage.name
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    tests = modules(options.modules)
    if not tests:
        raise SystemExit(f"no module matches {options.modules}: expected files under {', '.join(CONCERNS)}")
    equivalent: dict[str, str] = json.loads(EQUIVALENT.read_text())
    every = [mutant for file in tests for mutant in mutants(file, Path(file).read_text())]
    unknown = sorted(key for key in equivalent if key.split("::")[0] in tests and key not in {m.key for m in every})
    if unknown:
        raise SystemExit("no such mutant (any more), in benchmarks/mutants.json:\n  " + "\n  ".join(unknown))
    drawn = [mutant for mutant in every if mutant.key not in equivalent]
    if options.sample is not None:
        drawn = random.Random(options.seed).sample(drawn, min(options.sample, len(drawn)))
    _warm_up()
    start = time.monotonic()
    outcomes = dict.fromkeys((mutant.key for mutant in drawn), SURVIVED)
    if options.after:
        earlier = {entry["key"]: entry["outcome"] for entry in json.loads(options.after.read_text())}
        outcomes = {key: earlier.get(key, SURVIVED) for key in outcomes}
    _ask_in_place(drawn, outcomes, tests, options.seconds, options.workers, options.quick)
    _write(options.output, drawn, outcomes)  # what follows takes long
    if options.rings > 1:
        _ask_afresh(drawn, outcomes, tests, options.rings, options.seconds, options.workers)
    seconds = time.monotonic() - start
    _report(drawn, outcomes, equivalent, list(tests), seconds)
    _write(options.output, drawn, outcomes)
    if options.record:
        scores = json.loads(SCORES.read_text())
        for file in tests:
            mine = [m.key for m in every if m.file == file]
            noticed = sum(outcomes.get(key, SURVIVED) not in (SURVIVED, NOT_ASKED) for key in mine)
            scores[file] = {"mutants": len(mine), "equivalent": len(equivalent.keys() & mine), "noticed": noticed}
        keep(scores)
    if _score(outcomes) < options.at_least:
        raise SystemExit(1)


def _write(output: Path | None, drawn: Sequence[Mutant], outcomes: dict[str, str]) -> None:
    if output:
        entries = [{"key": m.key, "line": m.line, "outcome": outcomes[m.key]} for m in drawn]
        output.write_text(json.dumps(entries, indent=1) + "\n")


def _noticed(status: int, by: str) -> str:
    return "took too long" if status < 0 else f"noticed by {by}"


def _ask_afresh(
    drawn: Sequence[Mutant],
    outcomes: dict[str, str],
    tests: dict[str, list[list[str]]],
    last: int,
    seconds: float,
    workers: int,
) -> None:
    """Try what is left on the rings up to the last, with the package imported anew; `outcomes` is brought up."""
    rings = {"own tests": {file: own for file, (own, *_) in tests.items()}}
    if last > 2:
        claimed = _asked_in_a_child(list(tests))
        rings["other tests"] = {
            file: [*chain.from_iterable(more), *claimed[file]] for file, (_, *more) in tests.items()
        }
    for ring, concerning in rings.items():
        left = [m for m in drawn if outcomes[m.key] in (SURVIVED, NOT_ASKED) and concerning[m.file]]
        files = {m.file for m in left}
        _require_a_clean_start({file: concerning[file] for file in files}, seconds, workers)
        print(f"{ring}: {len(left)} mutants", file=sys.stderr)
        answers = run_all([partial(_in_child, m.file, m, concerning[m.file]) for m in left], seconds, workers)
        for mutant, (status, _) in zip(left, answers, strict=True):
            outcomes[mutant.key] = SURVIVED if status == 0 else _noticed(status, ring)


def _warm_up() -> None:
    """What every child needs is imported once, the package itself excepted."""
    for name in (
        "numpy",
        "scipy.optimize",
        "flint",
        "sympy",
        "hypothesis.extra.numpy",
        "pytest",
        "rich.console",
        "typer",
    ):
        importlib.import_module(name)
    from hypothesis import Phase, settings

    # That a test fails is enough: its example is neither shrunk, explained nor kept.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", database=None, derandomize=True, deadline=None, phases=phases, max_examples=10)


def _require_a_clean_start(tests: dict[str, list[str]], seconds: float, workers: int) -> None:
    """Without a mutant the tests pass; else every mutant would seem to be noticed."""
    files = [file for file, own in tests.items() if own]
    for file, (status, _) in zip(
        files, run_all([partial(_in_child, f, None, tests[f]) for f in files], seconds, workers), strict=True
    ):
        if status != 0:
            raise SystemExit(f"the tests of {file} do not pass as it is (status {status}): {' '.join(tests[file])}")


def _report(
    drawn: Sequence[Mutant],
    outcomes: dict[str, str],
    equivalent: dict[str, str],
    files: Sequence[str],
    seconds: float,
) -> None:
    for mutant in drawn:
        if outcomes[mutant.key] == SURVIVED:
            print(f"survived  {mutant.file}:{mutant.line}  {mutant.function}: {mutant.before} -> {mutant.after}")
    for file in files:
        own = [outcomes[m.key] for m in drawn if m.file == file and outcomes[m.key] != NOT_ASKED]
        if own:
            left = sum(key.startswith(file + "::") for key in equivalent)
            print(f"{file}: {len(own) - own.count(SURVIVED)} of {len(own)} noticed, {left} are equivalent")
    counts = Counter(outcomes.values())
    asked = len(drawn) - counts[NOT_ASKED]
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(
        f"{asked - counts[SURVIVED]} of {asked} mutants noticed, {_score(outcomes):.1f} % ({kinds}), in {seconds:.0f} s"
    )


def table(scores: dict[str, dict[str, int]]) -> str:
    """The scores as rows of Markdown; per cent are rounded down, of the mutants that are not equivalent."""
    rows = ["| module | mutants | of them equivalent | noticed | score |", "|---|---|---|---|---|"]
    for file, found in sorted(scores.items()):
        every, equivalent, noticed = found["mutants"], found["equivalent"], found["noticed"]
        if every > equivalent:
            tenths = 1000 * noticed // (every - equivalent)
            rows.append(f"| `{file}` | {every} | {equivalent} | {noticed} | {tenths / 10} % |")
    return "\n".join(rows) + "\n"


MARKERS = "<!-- mutants -->\n", "<!-- end of mutants -->"


def keep(scores: dict[str, dict[str, int]]) -> None:
    """Write the scores, a file a line, and their table into the page."""
    lines = ",\n".join(f" {json.dumps(file)}: {json.dumps(found)}" for file, found in sorted(scores.items()))
    SCORES.write_text(f"{{\n{lines}\n}}\n")
    before, after = PAGE.read_text(encoding="utf-8").split(MARKERS[0])
    PAGE.write_text(before + MARKERS[0] + table(scores) + MARKERS[1] + after.split(MARKERS[1])[1], encoding="utf-8")


def _score(outcomes: dict[str, str]) -> float:
    """Per cent of the mutants asked about that were noticed; 0 where none was."""
    asked = [outcome for outcome in outcomes.values() if outcome != NOT_ASKED]
    return 100 * sum(outcome != SURVIVED for outcome in asked) / max(1, len(asked))


if __name__ == "__main__":
    main()

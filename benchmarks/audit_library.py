"""Audit every claim of the library, and write what was found into docs/findings.md.

    python benchmarks/audit_library.py [--budget N] [--seconds S] [--workers N] [--seed N] [--only ID] [--output FILE]
                                       [--keep FILE]

Each claim has a limit in seconds, so a slower machine finds less; the document says with what it was made. It takes an
hour of one core: with --keep what is done is kept, a line an audit, and a run that was broken off goes on from there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from resstream import claims
from resstream.audit import audit
from resstream.audit.report import data, numbers, words
from resstream.audit.result import SUPERFLUOUS
from resstream.audit.run import BUDGET, SECONDS

sys.path.insert(0, str(Path(__file__).parent))
import ten_findings

OUTPUT = Path(__file__).parents[1] / "docs" / "findings.md"


def audited(identifier: str, budget: int, seconds: float, seed: int) -> dict[str, Any]:
    """The audit of one claim of the library, as plain data with the texts of its sections."""
    claim = claims.lookup(identifier)
    try:
        found = audit(claim, budget=budget, seconds=seconds, seed=seed)
    except Exception as failure:
        return {"claim": identifier, "failure": f"{type(failure).__name__}: {failure}", "seconds": 0.0}
    counterexample = found.verdict.counterexample if found.verdict else None
    return {
        **data.to_json(found),
        "headline": claim.headline,
        "source": claim.source,
        "as_expected": found.as_expected,
        "instance": numbers.instance(counterexample) if counterexample else "",
        "proved": [text for text, _ in words.proofs(found.proofs)],
        "texts": {
            part.relation: (
                words.sharp(part)[0],
                numbers.instance(part.sharpness.shown or part.sharpness.extremal) if part.sharpness.extremal else "",
            )
            for part in found.parts
        },
        "sharper": {part.relation: words.sharper(part) for part in found.parts if part.profile.sharper},
        "needs": [words.need(v) for v in found.necessity if v.conclusion == SUPERFLUOUS],
        "rescue": [rescue.label for rescue in found.failures.rescue] if found.failures else [],
    }


def run(
    identifiers: list[str], budget: int, seconds: float, seed: int, workers: int, keep: Path | None
) -> list[dict[str, Any]]:
    """The audits, in the order of the claims, with a line for each on standard error as it is done."""
    lines = keep.read_text(encoding="utf-8").splitlines() if keep and keep.exists() else []
    results: dict[str, dict[str, Any]] = {result["claim"]: result for result in map(json.loads, lines)}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        missing = [name for name in identifiers if name not in results]
        futures = {pool.submit(audited, name, budget, seconds, seed): name for name in missing}
        for done, future in enumerate(as_completed(futures), 1):
            name = futures[future]
            results[name] = future.result()
            if keep:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(results[name]) + "\n")
            status = results[name].get("status", results[name].get("failure"))
            print(f"{done}/{len(futures)} {name}: {status}, {results[name]['seconds']:.1f} s", file=sys.stderr)
    return [results[name] for name in identifiers]


# ---- the document -----------------------------------------------------------


def document(results: list[dict[str, Any]], command: str) -> str:
    """docs/findings.md."""
    minutes = sum(result["seconds"] for result in results) / 60
    whole = [result for result in results if "failure" not in result]
    lines = [
        "# What an audit of the library finds",
        "",
        f"Made by `{command}` ({len(results)} claims, audits of {minutes:.0f} minutes); do not edit.",
        "",
        "An audit searches, judges exactly what it finds, and proves at small sizes what it can. That a bound is not",
        "sharp, that a hypothesis is not needed or that a restriction saves a false claim is what a search of limited",
        "length says, unless a proof is named. A counterexample is certain. Proofs are tried last, in the time that is",
        "left to a claim, so that none is named where none was found in time.",
        "",
        *ten_findings.as_markdown().splitlines(),
        "",
    ]
    for title, body in (
        ("Bounds that are not sharp", _unsharp(whole)),
        ("Bounds that are approached and were not seen to be attained", _approached(whole)),
        ("Hypotheses and domains that may be wider", _superfluous(whole)),
        ("Statements that are false as printed or as reported", _false(whole, tempting=False)),
        ("Tempting statements that are false", _false(whole, tempting=True)),
        ("Proved at small sizes", _proved(whole)),
        ("Not answered", _unanswered(results)),
    ):
        lines += [f"## {title}", "", *(body or ["None."]), ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]


def _holds(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [result for result in results if result["status"] == "survived"]


def _unsharp(results: list[dict[str, Any]]) -> list[str]:
    rows, curves = [], []
    for result in _holds(results):
        for part in result["parts"]:
            text, instance = result["texts"][part["relation"]]
            sharper = result["sharper"].get(part["relation"])
            if sharper:
                rows.append((f"`{result['claim']}`", sharper, f"as printed: {text}"))
                curves += _curve(result["claim"], part["profile"])
            elif part["sharpness"]["status"] == "loose" and part["sharpness"]["ratio"] > 0:
                rows.append((f"`{result['claim']}`", text, f"`{instance}`"))
    return [*_table(("claim", "what was found", "where"), rows), *curves]


def _curve(name: str, profile: dict[str, Any]) -> list[str]:
    """The largest ratio for some values of the quantity, beside the sharper bound."""
    sharper = profile["sharper"]
    points = profile["curves"].get(sharper["quantity"], [])
    form = sharper["form"].replace(sharper["quantity"], "q")
    at = dict(profile["reference"])
    rows = [(f"{q:.4g}", f"{ratio:.6f}", f"{at[q]:.6f}") for q, ratio in points if q in at and 1e-3 <= q <= 30]
    if not rows:
        return []
    head = (f"q = {sharper['quantity']}", "largest ratio of the sides found", f"({form}) / (the right side)")
    return ["", f"`{name}`, as a function of {sharper['quantity']}:", "", *_table(head, rows)]


def _approached(results: list[dict[str, Any]]) -> list[str]:
    rows = []
    for result in _holds(results):
        for part in result["parts"]:
            text, instance = result["texts"][part["relation"]]
            if part["sharpness"]["status"] == "approached" and part["relation"] not in result["sharper"]:
                name = f"`{result['claim']}`" + (f", {part['relation']}" if len(result["parts"]) > 1 else "")
                rows.append((name, text, f"`{instance}`"))
    return _table(("claim", "what was found", "nearest instance"), rows)


def _superfluous(results: list[dict[str, Any]]) -> list[str]:
    rows = [(f"`{result['claim']}`", text) for result in _holds(results) for text in result["needs"]]
    return _table(("claim", "change"), rows)


def _false(results: list[dict[str, Any]], tempting: bool) -> list[str]:
    rows = []
    for result in results:
        is_tempting = "tempting" in result["source"] or result["headline"].startswith("Tempting")
        if result["status"] == "refuted" and is_tempting == tempting:
            rescue = " or ".join(f"`{label}`" for label in result["rescue"]) or "nothing that was tried"
            rows.append(
                (f"`{result['claim']}`", result["headline"], result["source"], f"`{result['instance']}`", rescue)
            )
    return _table(("claim", "statement", "source", "counterexample", "what saves it"), rows)


def _proved(results: list[dict[str, Any]]) -> list[str]:
    rows = [
        (f"`{result['claim']}`", text)
        for result in results
        for text in result["proved"]
        if text.startswith("proved") and result["status"] == "survived"
    ]
    return _table(("claim", "what was proved"), rows)


def _unanswered(results: list[dict[str, Any]]) -> list[str]:
    rows = []
    for result in results:
        if "failure" in result:
            rows.append((f"`{result['claim']}`", result["failure"]))
        elif not result["as_expected"]:
            rows.append(
                (f"`{result['claim']}`", f"expected: {result['expect']}; the search ended as {result['status']}")
            )
        else:
            missing = [reason for reason in result["missing"] if not reason.startswith("proof")]
            rows += [(f"`{result['claim']}`", "; ".join(missing))] if missing else []
    return _table(("claim", "what is missing"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=BUDGET, help="evaluations of the search for a counterexample")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit in time for each claim")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], help="ids, groups or patterns; all claims by default")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path, help="a file that audits done are kept in")
    options = parser.parse_args()
    chosen = [claim.id for claim in claims.matching(options.only)]
    results = run(chosen, options.budget, options.seconds, options.seed, options.workers, options.keep)
    command = f"python benchmarks/audit_library.py --budget {options.budget} --seconds {options.seconds:g}"
    options.output.write_text(document(results, command), encoding="utf-8")
    failed = [result["claim"] for result in results if "failure" in result]
    print(f"wrote {options.output} from {len(results)} audits; {len(failed)} failed {failed or ''}")


if __name__ == "__main__":
    main()

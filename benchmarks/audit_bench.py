#!/usr/bin/env python3
"""Scores audits on theorems with recorded answers: facts found, missed and stated wrongly.

    python benchmarks/audit_bench.py [DIR] [--only ID,...] [--save DIR | --from DIR] [--seconds S] [--seed N] [--quick]
                                     [--workers N] [--json [FILE]]

DIR holds `answers.json` and the files of claims that it names. Claims are audited one after another (or --workers at a
time), each by `resstream audit FILE::ID --json` in a fresh directory (so that no remembered counterexample helps).
--save keeps every audit's JSON as DIR/ID.json, and --from scores such files again without running anything. Only the
documented JSON is read, and all of that in the class `View`.

A fact is found, missed (nothing said, or not known) or WRONG (the opposite is said). Statements that are no recorded
fact (cells, proofs, variants, ratios) are held against the truth as well. `unverified` lists those without an answer.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOUND, MISSED, WRONG = "found", "missed", "WRONG"

TOLERANCE = 1e-3
"""How near a constant must be, relatively, to count as found; BADLY: from where on a stated factor is called wrong."""
BADLY = 0.02
SIZES = 0.01
"""The same for ratios by size, which the tool gives as float64 of a search."""


# ---- the one place that knows the JSON of `resstream audit FILE --json` ------


def label_of(text: str) -> str:
    """`s in Positive(columns=n)` as `s in Positive`: the arguments are not compared. Other labels as they are."""
    found = re.fullmatch(r"(\w+) in (\w+)\(.*\)", text.strip())
    if found and found.group(2) != "Norm":
        return f"{found.group(1)} in {found.group(2)}"
    return re.sub(r"\s+", " ", text.strip())


class View:
    """What one audit says, whatever the JSON calls it."""

    def __init__(self, data: dict):
        self.data = data
        parts = data.get("parts") or []
        self.part = parts[0] if len(parts) == 1 else {}
        self.sharpness = self.part.get("sharpness") or {}

    # the verdict
    def status(self) -> str:  # survived, refuted, vacuous, gave up, error
        return self.data.get("status", "error")

    def seconds(self) -> float:
        return float(self.data.get("seconds", 0))

    def counterexample_sizes(self) -> dict:
        return ((self.data.get("counterexample") or {}).get("raw") or {}).get("sizes") or {}

    def largest_ratio(self) -> float | None:
        """lhs/rhs where a refuted claim is worst."""
        found = self.data.get("counterexample")
        if not found or found.get("largest_violation") is None:
            return None
        v = found["largest_violation"]
        return (1 + v) / (1 - v) if v < 1 else None

    # sharpness
    def sharp_status(self) -> str:  # attained, attained at zero, approached, loose, unknown
        return self.sharpness.get("status", "")

    def ratio(self) -> float | None:
        return self.sharpness.get("ratio")

    def directions(self) -> list[str]:
        return list(self.sharpness.get("directions") or [])

    def by_size(self, size: str) -> dict[str, float]:
        return {str(k): v for k, v in ((self.sharpness.get("by_size") or {}).get(size) or {}).items()}

    def sharper(self) -> list[tuple[str, str]]:
        """(form, quantity) of bounds that may take the place of the printed one."""
        found = (self.part.get("profile") or {}).get("sharper")
        return [(found["form"], found["quantity"])] if found else []

    def closed_forms(self) -> list[str]:
        """Closed forms given for the best constant, or for the best ratio by size."""
        keys = {"closed_form", "constant_form", "constant", "size_form", "form_by_size"}
        found: list[str] = []

        def walk(value, key=""):
            if isinstance(value, dict):
                for k, v in value.items():
                    walk(v, k)
            elif isinstance(value, list):
                for v in value:
                    walk(v, key)
            elif isinstance(value, str) and key in keys:
                found.append(value)

        walk({k: v for k, v in self.data.items() if k != "counterexample"})
        return found

    # hypotheses and domains
    def hypothesis(self, name: str) -> str:  # survived, refuted, no meaning, not reached
        return next((v["status"] for v in self.data.get("necessity") or [] if v["change"] == f"without {name}"), "")

    def domain(self, variable: str) -> str:
        start = f"{variable} in "
        return next((v["status"] for v in self.data.get("necessity") or [] if v["change"].startswith(start)), "")

    def vacuous_sizes(self) -> dict | None:
        """{size: [values]} at which the hypotheses are never met."""
        return self.data.get("vacuous_sizes")

    # where it fails
    def cells(self) -> list[tuple[dict, str, str]]:  # sizes, options, fails / survives / unknown
        return [(c["sizes"], c["options"], c["outcome"]) for c in (self.data.get("failures") or {}).get("cells") or []]

    def kinds(self) -> list[tuple[str, str]]:
        return [(label_of(k[0]), k[1]) for k in (self.data.get("failures") or {}).get("kinds") or []]

    def rescues(self) -> list[str]:
        return [label_of(r[0]) for r in (self.data.get("failures") or {}).get("rescue") or []]

    def thresholds(self) -> list[float]:
        """Values of a quantity from which on the claim fails."""
        found = self.data.get("thresholds") or (self.data.get("failures") or {}).get("thresholds") or []
        return [float(t["value"] if isinstance(t, dict) else t) for t in found]

    def fails_beyond(self) -> dict:
        """{size: least value} at which it fails beyond the sizes stated."""
        return self.data.get("fails_beyond") or {}

    def regimes(self) -> list[str]:
        """Other words on where it is attained or fails."""
        return list(self.data.get("regimes") or [])

    # proofs and variants
    def proofs(self) -> list[tuple[dict, str, str]]:  # sizes, options, proved / refuted / not decided / not expressible
        return [(p["sizes"], p.get("options", ""), p["outcome"]) for p in self.data.get("proofs") or []]

    def strengthened(self) -> list[tuple[str, str]]:
        return [(v["change"], v["status"]) for v in self.data.get("strengthened") or []]


# ---- expressions --------------------------------------------------------------


def lambertw(x):
    w = math.log(1 + x)
    for _ in range(60):
        w -= (w * math.exp(w) - x) / (math.exp(w) * (1 + w))
    return w


NAMES = {
    name: getattr(math, name)
    for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "cosh", "sinh", "pi", "e", "floor")
}
NAMES |= {
    "lambertw": lambertw,
    "W": lambertw,
    "min": min,
    "max": max,
    "abs": abs,
    "harmonic": lambda n: sum(1 / i for i in range(1, int(n) + 1)),
}


def value_of(text: str, **names) -> float | None:
    text = text.replace("^", "**")
    if not re.fullmatch(r"[\w\s.+\-*/%(),]*", text):
        return None
    try:
        return float(eval(text, {"__builtins__": {}}, {**NAMES, **names}))
    except Exception:
        return None


def near(a, b, tolerance):
    return a is not None and abs(a - b) <= tolerance * max(abs(b), 1e-12)


# ---- what is true of a theorem --------------------------------------------------


def fails(theorem: dict, sizes: dict, options: str) -> bool | None:
    """Whether it fails at these sizes and options; None where that is not recorded."""
    try:
        return bool(eval(theorem["fails_when"], {"__builtins__": {}}, {**sizes, "options": options}))
    except NameError:
        return None


def supremum(theorem: dict) -> float | None:
    """The largest ratio of the sides at the stated sizes, of a theorem that holds."""
    facts = {f["fact"]: f for f in theorem["facts"]}
    if facts.get("sharp", {}).get("expected") == "sharp":
        return 1.0
    if "constant" in facts:
        return facts["constant"]["expected"]
    rows = [max(f["expected"].values()) for f in theorem["facts"] if f["fact"] == "by_size"]
    return max(rows) if rows else None


# ---- a scorer for each kind of fact -----------------------------------------------


def score_verdict(view, fact):
    status, wanted = view.status(), fact["expected"]
    said = {"survived": "holds", "refuted": "fails", "vacuous": "vacuous"}.get(status, "")
    if said == wanted:
        return FOUND, status
    if status == "refuted" or (status == "vacuous" and wanted != "vacuous"):
        return WRONG, f"says {status}"
    if wanted == "vacuous" and status == "survived":
        return WRONG, "says that instances met the hypotheses"
    if wanted == "fails" and fact["scope"] == "all sizes" and view.fails_beyond():
        return FOUND, "fails beyond the stated sizes"
    return MISSED, f"says {status}"


def score_least_sizes(view, fact):
    seen = view.counterexample_sizes() or view.fails_beyond()
    if not seen:
        return MISSED, "no counterexample"
    if any(seen.get(name, 0) > size for name, size in fact["expected"].items()):
        return MISSED, f"at {seen}"
    return (
        (FOUND, f"at {seen}")
        if not any(seen.get(n, s) < s for n, s in fact["expected"].items())
        else (WRONG, f"at {seen}")
    )


def score_sharp(view, fact):
    status = view.sharp_status()
    said = {"attained": "sharp", "approached": "sharp", "attained at zero": "", "loose": "loose"}.get(status, "")
    if not said:
        return MISSED, status or "not said"
    return (FOUND, status) if said == fact["expected"] else (WRONG, f"says {status}, ratio {view.ratio()}")


def score_reached(view, fact):
    status = view.sharp_status()
    if status == fact["expected"]:
        return FOUND, status
    if fact["expected"] == "approached" and status == "attained":
        return WRONG, "says attained"
    return MISSED, status or "not said"


def score_constant(view, fact):
    ratio, wanted = view.ratio(), fact["expected"]
    if ratio is None or view.sharp_status() in ("", "unknown"):
        return MISSED, "not said"
    if near(ratio, wanted, TOLERANCE):
        return FOUND, f"{ratio:.6g}"
    if ratio > wanted or ratio < wanted * (1 - BADLY):
        return WRONG, f"says {ratio:.6g}, is {wanted:.6g}"
    return MISSED, f"says {ratio:.6g}, is {wanted:.6g}"


def score_constant_form(view, fact):
    ok = any(near(value_of(text), fact["expected"], 1e-9) for text in view.closed_forms())
    return (FOUND, "") if ok else (MISSED, "no closed form")


def score_by_size(view, fact):
    seen, off = view.by_size(fact["size"]), []
    for size, wanted in fact["expected"].items():
        got = seen.get(size, 0.0 if wanted == 0 else None)
        if got is not None and got > wanted * (1 + SIZES) + 1e-6:
            return WRONG, f"{fact['size']} = {size}: says {got:.5g}, is {wanted:.5g}"
        if got is None or not (near(got, wanted, SIZES) or wanted == 0):
            off.append(f"{size}: {got if got is None else round(got, 4)} for {wanted:.4g}")
    return (FOUND, "") if not off else (MISSED, "; ".join(off[:3]))


def score_size_form(view, fact):
    values = next((f["expected"] for f in fact["siblings"] if f["fact"] == "by_size" and f["size"] == fact["size"]), {})
    for text in view.closed_forms():
        if values and all(
            near(value_of(text, **{**fact["with"], fact["size"]: int(n)}), v, 1e-6) for n, v in values.items()
        ):
            return FOUND, text
    return MISSED, "no closed form"


def score_size_limit(view, fact):
    return (
        (FOUND, "") if set(fact["expected"]) & set(view.directions()) else (MISSED, f"directions {view.directions()}")
    )


def score_direction(view, fact):
    said = view.directions()
    false = [d for d in said if d in fact["false"]]
    if false:
        return WRONG, f"says {false}"
    return (FOUND, str(said)) if set(said) & set(fact["expected"]) else (MISSED, f"says {said}")


def squeezed(text):
    return re.sub(r"\s+", "", text)


def score_sharper(view, fact):
    said = view.sharper()
    if not said:
        return MISSED, "no sharper form"
    for form, quantity in said:
        letter = next((k for k, v in fact["quantities"].items() if squeezed(v) == squeezed(quantity)), None)
        if letter is None or not fact["python"]:
            continue
        text = squeezed(form).replace(squeezed(quantity), letter)
        sizes = range(2, 7) if "n sizes" in fact["on"] else [2]
        pairs = [
            (
                value_of(text, **{letter: 10.0 ** (k / 4), "n": n}),
                value_of(fact["python"], **{letter: 10.0 ** (k / 4), "n": n}),
            )
            for k in range(-8, 7)
            for n in sizes
        ]
        if any(a is None or b is None for a, b in pairs):
            continue
        if all(near(a, b, 1e-6) for a, b in pairs):
            return FOUND, form
        below = "from below" in fact["on"]
        if any((a > b * (1 + 1e-9)) if below else (a < b * (1 - 1e-9)) for a, b in pairs):
            return WRONG, f"says {form}"
        return MISSED, f"a weaker form: {form}"
    return MISSED, f"another form: {said}"


def score_hypothesis(view, fact):
    status = view.hypothesis(fact["name"])
    said = {"survived": "superfluous", "refuted": "needed", "no meaning": "needed"}.get(status, "")
    if not said:
        return MISSED, status or "not said"
    return (FOUND, status) if said == fact["expected"] else (WRONG, f"says {said}")


def score_domain(view, fact):
    status = view.domain(fact["variable"])
    said = {"survived": "superfluous", "refuted": "needed", "no meaning": "needed"}.get(status, "")
    if not said:
        return MISSED, status or "not said"
    return (FOUND, status) if said == fact["expected"] else (WRONG, f"says {status}")


def score_vacuous_sizes(view, fact):
    wanted, said = fact["expected"], view.vacuous_sizes()
    if wanted == "all":
        return (FOUND, "") if view.status() == "vacuous" else (MISSED, view.status())
    if said is None:
        return MISSED, "not said"
    return (FOUND, "") if {k: list(v) for k, v in said.items()} == wanted else (WRONG, str(said))


def score_fails_at(view, fact):
    seen = {True: 0, False: 0}
    truth = {row["fails"] for row in fact["expected"]}
    if not view.cells():
        return MISSED, "no map"
    off = []
    for sizes, options, outcome in view.cells():
        row = next(
            (
                r
                for r in fact["expected"]
                if all(sizes.get(k) == v for k, v in r["sizes"].items())
                and (not r["options"] or r["options"] == options)
            ),
            None,
        )
        if row is None or outcome not in ("fails", "survives"):
            continue
        if outcome == "fails" and not row["fails"]:
            return WRONG, f"says that it fails at {sizes} {options}"
        if (outcome == "fails") != row["fails"]:
            off.append(f"{sizes} {options}")
        seen[row["fails"]] += 1
    if off:
        return MISSED, f"no failure seen at {off[:3]}"
    return (
        (FOUND, "")
        if all(seen[t] for t in truth)
        else (MISSED, "the map shows no size at which it fails" if not seen[True] else "the map shows one side only")
    )


def score_repair(view, fact):
    said = view.rescues()
    false = [s for s in said if s in map(label_of, fact["false"])]
    if false:
        return WRONG, f"says {false}"
    good = [s for s in said if s in map(label_of, fact["expected"])]
    return (FOUND, str(good)) if good else (MISSED, f"says {said}")


def score_threshold(view, fact):
    ok = any(near(t, fact["expected"], TOLERANCE) for t in view.thresholds())
    return (FOUND, "") if ok else (MISSED, "no threshold")


def score_worst(view, fact):
    ratio = view.largest_ratio()
    if ratio is None:
        return MISSED, "not said"
    if ratio > fact["expected"] * (1 + 1e-6):
        return WRONG, f"says {ratio:.6g}"
    return (
        (FOUND, f"{ratio:.6g}")
        if near(ratio, fact["expected"], SIZES)
        else (MISSED, f"says {ratio:.6g}, is {fact['expected']:.6g}")
    )


def score_proof(view, fact):
    goals = [(o, outcome) for s, o, outcome in view.proofs() if s == fact["sizes"]]
    if not goals:
        return MISSED, "no such goal"
    outcomes = [outcome for _, outcome in goals]
    if fact["expected"] == "proved":
        return (FOUND, "") if all(o == "proved" for o in outcomes) else (MISSED, str(sorted(set(outcomes))))
    return (FOUND, "") if "refuted" in outcomes else (MISSED, str(sorted(set(outcomes))))


def score_regime(view, fact):
    if fact["kinds"]:
        seen = dict(view.kinds())
        ok = all(seen.get(label_of(kind)) == outcome for kind, outcome in fact["kinds"])
        return (FOUND, "") if ok else (MISSED, "not among the kinds")
    return (FOUND, "") if fact["expected"] in view.regimes() else (MISSED, "not said")


SCORERS = {
    name.removeprefix("score_"): function for name, function in list(globals().items()) if name.startswith("score_")
}


def counted(fact: dict) -> bool:
    return not (fact["fact"] == "direction" and not fact["expected"])


# ---- statements that are no recorded fact, held against the truth ----------------------


def other_statements(view: View, theorem: dict) -> tuple[list[str], list[str]]:
    """(false ones, unverified ones)."""
    wrong, unverified = [], []
    for sizes, options, outcome in view.proofs():
        truth = fails(theorem, sizes, options)
        if truth is None:
            continue
        if outcome == "proved" and truth:
            wrong.append(f"proved at {sizes} {options}, where it fails")
        if outcome == "refuted" and not truth:
            wrong.append(f"refuted by a proof at {sizes} {options}, where it holds")
    facts = {f["fact"]: f for f in theorem["facts"]}
    if "fails_at" not in facts:
        for sizes, options, outcome in view.cells():
            if outcome == "fails" and fails(theorem, sizes, options) is False:
                wrong.append(f"the map says that it fails at {sizes} {options}")
    repair = facts.get("repair", {"expected": [], "true": [], "false": []})
    known = {label_of(text) for key in ("expected", "true", "false") for text in repair[key]}
    unverified += [f"rescue: {label}" for label in view.rescues() if label not in known]
    good = {label_of(text) for key in ("expected", "true") for text in repair[key]}
    wrong += [
        f"says that it fails also with {label}"
        for label, outcome in view.kinds()
        if outcome == "fails" and label in good
    ]
    if "sharper" not in facts:
        unverified += [f"sharper: {form}" for form, _ in view.sharper()]
    for size in ("n", "d", "L", "m"):
        if (
            not any(f["fact"] == "by_size" and f["size"] == size for f in theorem["facts"])
            and theorem["fails_when"] == "False"
        ):
            top = supremum(theorem)
            wrong += [
                f"ratio {value:.5g} at {size} = {at}, though it stays below {top:.5g}"
                for at, value in view.by_size(size).items()
                if top and value > top * (1 + SIZES)
            ]
    top = supremum(theorem)
    if theorem["fails_when"] == "False" and top is not None:
        for change, status in view.strengthened():
            factor = re.search(r"times ([\d.]+)", change)
            if factor and status == "survived" and top > float(factor.group(1)) * (1 + 1e-9):
                wrong.append(f"survives {change}, though the ratio reaches {top:.6g}")
            if factor and status == "refuted" and top < float(factor.group(1)) * (1 - 1e-9):
                wrong.append(f"refuted: {change}, though the ratio stays below {top:.6g}")
            if (
                change == "strict inequality"
                and status == "survived"
                and facts.get("reached", {}).get("expected") == "attained"
            ):
                wrong.append("the strict inequality survives, though equality is attained")
    checked = theorem["checks"].get("true", {})
    return wrong, [text for text in unverified if text not in checked]


# ---- running --------------------------------------------------------------------------


def run(folder: Path, theorem: dict, options: list[str]) -> dict:
    target = f"{folder.resolve() / theorem['file']}::{theorem['id']}"
    command = [sys.executable, "-c", "from resstream.cli import main; main()", "audit", target, "--json", *options]
    with tempfile.TemporaryDirectory() as directory:
        start = time.monotonic()
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        wall = time.monotonic() - start
    try:
        data = json.loads(done.stdout)
        data = data[0] if isinstance(data, list) else data
    except (json.JSONDecodeError, IndexError):
        data = {"status": "error", "error": (done.stderr or done.stdout)[-2000:]}
    return {"wall": wall, "exit": done.returncode, "audit": data}


def scored(theorem: dict, record: dict) -> dict:
    """A row: the facts of a theorem with what became of each, and wrong and unverified statements."""
    view = View(record["audit"])
    facts = []
    wrong = []
    for fact in theorem["facts"]:
        try:
            result, detail = SCORERS[fact["fact"]](view, {**fact, "siblings": theorem["facts"]})
        except (KeyError, TypeError, AttributeError, ValueError) as failure:
            result, detail = MISSED, f"the JSON cannot be read here: {failure!r}"
        name = fact.get("name") or fact.get("variable") or fact.get("size") or ""
        if counted(fact) or result == WRONG:
            facts.append((fact["fact"], name, result, detail))
        if result == WRONG:
            tag = "search" if fact["fact"] in ("repair", "hypothesis", "domain") else "flat"
            wrong.append(f"[{tag}] {theorem['id']}: {fact['fact']} {name}: {detail}")
    more, unknown = other_statements(view, theorem)
    wrong += [f"[{'search' if 'survives' in text else 'flat'}] {theorem['id']}: statement: {text}" for text in more]
    return {
        "id": theorem["id"],
        "kind": theorem["kind"],
        "hard": theorem["hard"],
        "status": view.status(),
        "seconds": view.seconds() or record["wall"],
        "facts": facts,
        "other_wrong": more,
        "wrong": wrong,
        "unverified": [f"{theorem['id']}: {text}" for text in unknown],
    }


def totals(rows: list[dict]) -> dict:
    facts = [fact for row in rows for fact in row["facts"]]
    return {
        "theorems": len(rows),
        "facts_total": len(facts),
        "found": sum(fact[2] == FOUND for fact in facts),
        "missed": sum(fact[2] == MISSED for fact in facts),
        "wrong": sum(fact[2] == WRONG for fact in facts) + sum(len(row["other_wrong"]) for row in rows),
    }


def by_fact(rows: list[dict]) -> dict:
    table: dict[str, dict[str, int]] = {}
    for kind, _, result, _ in (fact for row in rows for fact in row["facts"]):
        entry = table.setdefault(kind, {"total": 0, FOUND: 0, MISSED: 0, WRONG: 0})
        entry["total"] += 1
        entry[result] += 1
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path, nargs="?", default=Path(), help="with answers.json")
    parser.add_argument("--only", default="", help="ids, with commas")
    parser.add_argument("--save", type=Path, help="a directory for the JSON of every audit")
    parser.add_argument("--from", dest="source", type=Path, help="a directory of such JSON, to be scored again")
    parser.add_argument("--workers", type=int, default=1, help="audits at a time; more than cores make them shallow")
    parser.add_argument("--seconds", default="")
    parser.add_argument("--seed", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", nargs="?", const="-", help="the whole as JSON, on standard output or in a file")
    options = parser.parse_args()
    passed = [
        text for name in ("seconds", "seed") if getattr(options, name) for text in (f"--{name}", getattr(options, name))
    ]
    passed += ["--quick"] if options.quick else []
    theorems = json.loads((options.folder / "answers.json").read_text())["theorems"]
    theorems = [one for one in theorems if not options.only or one["id"] in options.only.split(",")]
    if options.source:
        theorems = [one for one in theorems if (options.source / f"{one['id']}.json").exists()]

    def record_of(theorem: dict) -> dict:
        if options.source:
            return json.loads((options.source / f"{theorem['id']}.json").read_text())
        record = run(options.folder, theorem, passed)
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            (options.save / f"{theorem['id']}.json").write_text(json.dumps(record))
        return record

    rows = []
    pool = ThreadPoolExecutor(options.workers)  # each audit is a process of its own
    for theorem, record in zip(theorems, pool.map(record_of, theorems), strict=True):
        row = scored(theorem, record)
        rows.append(row)
        missed = ", ".join(
            f"{k}{' ' + n if n else ''}{'!' if r == WRONG else ''}" for k, n, r, _ in row["facts"] if r != FOUND
        )
        count = sum(fact[2] == FOUND for fact in row["facts"])
        wrong = len(row["wrong"]) or ""
        line = f"{row['id']:26}{row['status']:10}{row['seconds']:6.1f} s {count:3}/{len(row['facts']):<3}{wrong:>3}  "
        line += missed
        print(line, file=sys.stderr if options.json == "-" else sys.stdout, flush=True)
    summary = {
        "totals": totals(rows),
        "share": round(totals(rows)["found"] / max(totals(rows)["facts_total"], 1), 4),
        "seconds_median": round(statistics.median([row["seconds"] for row in rows]), 2) if rows else 0,
        "seconds_max": round(max((row["seconds"] for row in rows), default=0), 2),
        "by_fact": by_fact(rows),
        "wrong_statements": [text for row in rows for text in row["wrong"]],
        "unverified": [text for row in rows for text in row["unverified"]],
    }
    if options.json == "-":
        print(json.dumps({**summary, "rows": rows}, indent=1))
    else:
        print(
            json.dumps(
                {
                    name: summary[name]
                    for name in ("totals", "share", "seconds_median", "seconds_max", "wrong_statements")
                },
                indent=1,
            )
        )
        if options.json:
            Path(options.json).write_text(json.dumps({**summary, "rows": rows}, indent=1))
    if not rows:
        sys.exit("no theorem was scored")


if __name__ == "__main__":
    main()

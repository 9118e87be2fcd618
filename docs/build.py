"""Build the site of the documents, with warnings as errors.

    python docs/build.py DIR [--gallery ID ...]

Needs the extra "site" and asks the network for nothing. The notebooks of docs/tutorials are executed anew, a failing
cell is an error; the reference has a page for each room, in it what its `__all__` names. The gallery holds the claims
that are named (a handful by default; `--gallery all` takes some minutes), without audits.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from docstrings import fenced
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbconvert.filters import strip_ansi
from whole import faults

import resstream
from resstream import claims
from resstream.lab.gallery import write_gallery

DOCS = Path(__file__).parent
ROOT = DOCS.parent

ROOMS = {
    "claim": "State a claim",
    "relations": "Relations",
    "domains": "Domains",
    "statistical": "Statistical claims",
    "strategies": "Domains as Hypothesis strategies",
    "reference": "The mathematics",
    "arithmetic": "Number systems",
    "claims": "The library",
    "falsify": "Search for counterexamples",
    "audit": "Audit a claim",
    "campaign": "Search for hours",
    "observe": "Look at a model",
    "lab": "The laboratory",
    "enclosures": "Enclosures of results",
    "errors": "Errors",
}
"""The rooms of which the reference has a page."""

SHOWN = ("contraction.diameter", "contraction.diameter_squared", "layernorm.nonexpansive", "softmax.rows_stochastic")
"""The claims of the gallery, where none are named."""

ELSEWHERE = {
    "../CLAIMS.md": "claims.md",
    "../proofs/README.md": "proofs.md",
    "CLAIMS.md": "claims.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages that stand outside docs/, and their names in the site."""


def public(room: str) -> list[str]:
    """The public names of a room: its `__all__`, or what is defined in it."""
    module = importlib.import_module(f"resstream.{room}")
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed, key=lambda name: (not name[0].isupper(), name.lower()))
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def reference_page(room: str, title: str) -> str:
    """The page of a room: its own words, then a directive for each name that has some."""
    module = importlib.import_module(f"resstream.{room}")
    words = (module.__doc__ or "").strip().partition("\n")
    named = "\n".join(f"::: resstream.{room}.{name}\n" for name in public(room) if documented(module, name))
    return f"# {title}\n\n`resstream.{room}`: {words[0]}\n{fenced(words[2])}\n\n{named}"


def names_page() -> str:
    """The names that `import resstream as rs` gives, each with its first sentence."""
    own = {name: getattr(resstream, name) for name in resstream.__all__ if not name.startswith("_")}
    own.pop("Array", None)  # NumPy's, which has a page of its own there
    first = {name: (inspect.getdoc(value) or "").partition("\n")[0] for name, value in own.items()}
    rows = [f"| `rs.{name}` | {words.replace('|', '&#124;')} |" for name, words in first.items()]
    return "# import resstream as rs\n\n| name | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"


def documented(module: object, name: str) -> bool:
    """Whether a name is a function or a class: constants and types have no page of their own."""
    value = getattr(module, name)
    return isinstance(value, type) or (callable(value) and bool(getattr(value, "__doc__", None)))


def relinked(text: str, at_root: bool = False) -> str:
    """The links of a page that stands elsewhere in the repository, as the site has them."""
    for old, new in ELSEWHERE.items():
        text = text.replace(f"]({old})", f"]({new})")
    text = text.replace("[A][B]", r"[A]\[B]")  # tokens of a statement, and no reference to a page
    return text.replace("](docs/", "](") if at_root else text


def home() -> str:
    """The first part of the README, up to the examples of the command line."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return readme.partition("\n## One run\n")[0] + "\n" + (DOCS / "home.md").read_text(encoding="utf-8")


def executed(path: Path, pages: Path) -> None:
    """A notebook, executed, as a page and as a notebook to download."""
    notebook = nbformat.read(path, as_version=4)
    # By sockets in the file system in place of ports: no network need be there.
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(pages.parent.parent / path.stem))
    # The commands of a notebook are those of this Python's environment.
    path_there = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    NotebookClient(notebook, timeout=300, km=manager).execute(env={**os.environ, "PATH": path_there})
    text, _ = MarkdownExporter().from_notebook_node(notebook)
    title, _, rest = strip_ansi(text).partition("\n")
    nbformat.write(notebook, pages / path.name)
    download = f'<p><a href="{path.name}" download>This page as an executed notebook</a></p>'
    (pages / path.with_suffix(".md").name).write_text(f"{title}\n\n{download}\n{rest}", encoding="utf-8")


def assemble(pages: Path) -> None:
    """Put all pages into a directory."""
    shutil.copytree(
        DOCS, pages, ignore=shutil.ignore_patterns("*.py", "*.yml", "*.toml", "*.ipynb", "home.md", "__pycache__")
    )
    for page in pages.rglob("*.md"):
        page.write_text(relinked(page.read_text(encoding="utf-8")), encoding="utf-8")
    (pages / "index.md").write_text(relinked(home(), at_root=True), encoding="utf-8")
    for name, page in (("CLAIMS.md", "claims.md"), ("CHANGELOG.md", "changelog.md"), ("proofs/README.md", "proofs.md")):
        (pages / page).write_text(relinked((ROOT / name).read_text(encoding="utf-8"), at_root=True), encoding="utf-8")
    (pages / "reference").mkdir()
    (pages / "reference" / "index.md").write_text(names_page(), encoding="utf-8")
    for room, title in ROOMS.items():
        (pages / "reference" / f"{room}.md").write_text(reference_page(room, title), encoding="utf-8")
    (pages / "tutorials").mkdir(exist_ok=True)
    notebooks = sorted((DOCS / "tutorials").glob("*.ipynb"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(executed, notebooks, [pages / "tutorials"] * len(notebooks)))


def settings(pages: Path) -> str:
    """The settings of the site: its navigation has the pages of the reference, and at its end what it does not name."""
    listed = json.dumps(
        [{"All at a glance": "reference/index.md"}, *({title: f"reference/{room}.md"} for room, title in ROOMS.items())]
    )
    text = (DOCS / "mkdocs.yml").read_text(encoding="utf-8").replace("{{reference}}", listed)
    text = text.replace("{{docs}}", DOCS.resolve().as_posix())
    others = sorted(str(page.relative_to(pages)) for page in pages.rglob("*.md"))
    unnamed = [page for page in others if page not in text and page != "proofs.md"]
    return f"{text}  - More: {json.dumps(unnamed)}\n" if unnamed else text


def build(out: Path, gallery: list[str]) -> None:
    """Build the site into a new directory."""
    if out.exists():
        sys.exit(f"{out} exists: expected a new directory")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        assemble(work / "docs")
        (work / "mkdocs.yml").write_text(settings(work / "docs"), encoding="utf-8")
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=work, check=True)
        shown = claims.matching([] if gallery == ["all"] else gallery)
        write_gallery(work / "site" / "gallery", shown, audits=False)
        found = list(faults(work / "site"))
        if found:
            sys.exit("\n".join(found))
        shutil.copytree(work / "site", out)


def main() -> None:
    """Read the arguments and build."""
    options = argparse.ArgumentParser(description="Build the site.")
    options.add_argument("directory", type=Path)
    options.add_argument("--gallery", nargs="+", default=list(SHOWN), metavar="ID", help="claims to show, or: all")
    given = options.parse_args()
    build(given.directory, given.gallery)


if __name__ == "__main__":
    main()

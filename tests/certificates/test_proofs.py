"""The development in proofs/ is built, rests on the real numbers' axioms alone, and its check can fail."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from resstream import claims, kernel
from resstream.claims.kernel import KERNEL_CHECKED

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"

needs_coqc = pytest.mark.skipif(not kernel.found(), reason=f"no coqc; {kernel.INSTALL}")


def make(directory):
    return subprocess.run(["make", "-C", directory], capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the development, built: the folder, and what make said."""
    directory = tmp_path_factory.mktemp("proofs") / "proofs"
    shutil.copytree(PROOFS, directory, ignore=shutil.ignore_patterns("*.vo*", "*.glob", "*.aux", "*.log"))
    return directory, make(directory)


@needs_coqc
@pytest.mark.xdist_group("proofs")
def test_every_theorem_is_accepted(built):
    _, done = built
    assert done.returncode == 0, done.stdout + done.stderr
    stated = re.findall(r"^Print Assumptions", (PROOFS / "Assumptions.v").read_text(), re.MULTILINE)
    assert len(stated) >= 19
    assert f"{len(stated)} theorems rest on 4 axioms" in done.stdout


@needs_coqc
@pytest.mark.xdist_group("proofs")
@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("Contraction.v", "<= dobrushin m n A * diameter N n X.", "<= dobrushin m n A / 2 * diameter N n X.", "Unable"),
        ("Stacks.v", "(1 - dobrushin n n A * c) * diameter", "(1 - dobrushin n n A) * diameter", "Error"),
        ("Scores.v", "Qed.", "Admitted.", "Admitted"),
        ("Scores.v", "From Coq", "Axiom cheat : False.\nFrom Coq", "Axiom"),
        ("axioms.txt", "Classical_Prop.classic\n", "", "an axiom that is not one"),
        ("Assumptions.v", "Print Assumptions", "(* none *) Check", "Error"),
    ],
)
def test_the_check_fails(built, tmp_path, file, old, new, complaint):
    """A theorem made too strong, an admitted one, an axiom of ours, an axiom not allowed, nothing asked."""
    shutil.copytree(built[0], tmp_path / "proofs")
    path = tmp_path / "proofs" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    done = make(tmp_path / "proofs")
    assert done.returncode != 0
    assert complaint in done.stdout + done.stderr


@needs_coqc
def test_an_axiom_under_another_name_is_seen():
    """What grep cannot see, the kernel's own account names: a variable outside any section is an axiom."""
    text = "From Coq Require Import Reals.\nVariable cheat : (1 < 0)%R.\nLemma false : (1 < 0)%R.\nexact cheat. Qed.\n"
    answer = kernel.check(text + "Print Assumptions false.\n")
    assert answer.compiled
    assert answer.theorems == 1
    assert "cheat" in answer.axioms
    assert not answer.accepted
    assert not kernel.check("Lemma nothing : 1 = 1. reflexivity. Qed.\n").accepted, "nothing was asked"
    assert not kernel.check("Lemma false : 1 = 2. reflexivity. Qed. Print Assumptions false.\n").compiled


@pytest.mark.parametrize("name", KERNEL_CHECKED)
def test_a_covered_claim_has_its_theorem(name):
    """The claim is one that holds; the theorem is stated in that file, and its assumptions are asked for."""
    file, theorem = KERNEL_CHECKED[name]
    assert claims.lookup(name).expect == "holds"
    assert re.search(rf"^(Theorem|Corollary) {theorem} :", (PROOFS / f"{file}.v").read_text(), re.MULTILINE)
    assert f"Print Assumptions {theorem}.\n" in (PROOFS / "Assumptions.v").read_text()

"""`resstream reproduce` as a user meets it, from the shipped weights."""

import json
import subprocess
import sys


def test_it_prints_every_published_figure_beside_ours():
    done = subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", "reproduce", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["rows"]) > 70
    assert len(found["ranges"]["seeds"]) == 8
    published = {row["id"]: row for row in found["rows"] if row["published"] is not None}
    assert published["two_layers.accuracy"]["published"] == "0.974"

"""How fast the laboratory is: its size, frames a second while a token is dragged, and the same cloud by the package.

    python benchmarks/laboratory.py [--frames N]

Needs Chromium or Chrome on the path, and the extra "test". A frame's work is the processor time of the page's
thread (scripts, style, layout, painting), a frame while a pointer drags a token through 12 layers: it depends little on
what else the machine does. Frames a second depend on that too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
from playwright.sync_api import sync_playwright

from resstream.lab import page as pages
from resstream.reference import diameter, dobrushin, relative_spread, row_range, smoothing_stack, softmax

BUDGET = 1000 / 60
"""Milliseconds of a frame at 60 a second."""

DRAG = """async frames => {
  const handle = document.querySelector(".handle"), stage = document.querySelector(".stage");
  const box = stage.getBoundingClientRect();
  handle.setPointerCapture = () => {}; handle.hasPointerCapture = () => true;
  const times = [];
  for (let k = 0; k <= frames; k++) {
    times.push(await new Promise(requestAnimationFrame));
    const clientX = box.left + box.width * (0.5 + 0.3 * Math.cos(k / 9));
    const clientY = box.top + box.height * (0.5 + 0.3 * Math.sin(k / 9));
    handle.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, pointerId: 1 }));
  }
  return times;
}"""


def by_the_package(X: np.ndarray, beta: float, depth: int) -> None:
    """What the page computes of a cloud, by the package."""
    for _ in range(depth):
        scores = beta * (X @ X.T)
        A = softmax(scores)
        dobrushin(A), row_range(scores), diameter(X), relative_spread(X)
        X = smoothing_stack([A], X, [np.eye(2)])[-1]


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description="Measure the laboratory.")
    options.add_argument("--frames", type=int, default=240)
    frames = options.parse_args().frames
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("no Chromium on the path")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        start = time.perf_counter()
        path = pages.write_page(Path(directory) / "lab.html")
        print(f"page: {path.stat().st_size / 1000:.0f} kB, written in {time.perf_counter() - start:.1f} s")
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(path.as_uri() + "#cloud?depth=12&beta=2")
        page.wait_for_timeout(500)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def busy() -> float:
            metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
            return 1000 * float(metrics["TaskDuration"])

        page.evaluate(DRAG, 30)
        before = busy()
        times = page.evaluate(DRAG, frames)
        work = (busy() - before) / frames
        print(f"a frame's work, dragging a token through 12 layers: {work:.2f} ms over {frames} frames")
        lasted = np.diff(times)
        print(
            f"frames a second: {1000 * frames / (times[-1] - times[0]):.1f} (at most 60); the slowest of 20 lasted "
            f"{np.quantile(lasted, 0.95):.1f} ms; {np.count_nonzero(lasted > 1.5 * BUDGET)} of {frames} came late"
        )
        print(f"ratio to the {BUDGET:.1f} ms of 60 frames a second: {work / BUDGET:.2f}")
        exposed = Path(directory) / "bare.html"
        exposed.write_text(
            f'<script type="module">{pages.module(pages.MATHEMATICS)}\nglobalThis.run = runCloud;</script>'
        )
        page.goto(exposed.as_uri())
        tokens = pages.cloud_data()["tokens"]
        here = page.evaluate(
            """tokens => { const settings = { tokens, beta: 2, depth: 12, step: 1, size: 1, angle: 0, stretch: 1,
              mask: false, skip: false, norm: "none", placement: "pre" };
              for (let k = 0; k < 500; k++) run(settings);
              const start = performance.now();
              for (let k = 0; k < 2000; k++) run(settings);
              return (performance.now() - start) / 2000; }""",
            tokens,
        )
        browser.close()
    X = np.array(tokens)
    by_the_package(X, 2.0, 12)
    start = time.perf_counter()
    for _ in range(200):
        by_the_package(X, 2.0, 12)
    there = (time.perf_counter() - start) * 1000 / 200
    print(f"a cloud, 12 layers: {here:.3f} ms in the page, {there:.2f} ms by the package, ratio {there / here:.0f}")


if __name__ == "__main__":
    main()

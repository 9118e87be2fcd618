"""The page of recipes: every block of it is run, its tests as tests."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"


def test_the_recipes_run(pytester):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    pytester.makepyfile(test_page="\n".join(blocks))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "error")
    result.assert_outcomes(passed=3)


def test_the_kernel_of_the_page_fails_without_its_scale(pytester):
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)[0]
    assert "/ np.sqrt(np.float32(Q.shape[-1]))" in block
    pytester.makepyfile(test_page=block.replace("/ np.sqrt(np.float32(Q.shape[-1]))", ""))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: entry *rounding in float32 does not explain it*"])

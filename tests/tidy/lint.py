"""clang-tidy over src/ and include/."""

import os
import re

from together import flags, passed_by, read_together
from tree import is_test

# The whole tree is read as so many files. More use more processors, and read more headers again.
PARTS = 4

# It costs far more than any other check, and finds what is slow, not what is wrong.
AT_NIGHT = "performance-unnecessary-value-param"


def _parts(tree, stale, everything):
    """The stale files in as many lists as their share of the whole tree is worth."""
    def size(paths):
        return sum(len(tree.text(path)) for path in paths)
    count = -(-PARTS * size(stale) // max(size(everything), 1))
    share, taken = size(stale) / max(count, 1) + 1, 0
    parts = [[] for _ in range(count)]
    for path in stale:
        parts[int(taken // share)].append(path)
        taken += size([path])
    return parts


def _excused(path, text):
    """What stands in for code that is not built takes what that takes, and needs none of it."""
    return AT_NIGHT in text and ("/absent/" in path or path.endswith("_absent.cc"))


def lint(tree):
    """Runs the checks of .clang-tidy over every file of src/ and every public header, and those of
    AT_NIGHT at night (SEMEL_NIGHTLY=1)."""
    more = [f"--checks={AT_NIGHT}"] if "SEMEL_NIGHTLY" in os.environ else []

    def command(whole):
        return ["clang-tidy", "--quiet", f"--config-file={tree.root / '.clang-tidy'}", *more,
                f"--header-filter=^{re.escape(str(tree.root))}/(src|include)/", str(whole), "--", "-w",
                *flags(tree)]
    everything = [p for p in tree.code("include") if p.endswith(".h")]
    everything += [p for p in tree.code("src") if p.endswith(".cc") and not is_test(p)]
    passed = passed_by(tree, command, (tree.root / ".clang-tidy").read_bytes())
    stale = [path for path in everything if not passed.has(path)]
    yield from read_together(tree, _parts(tree, stale, everything), command,
                             lambda text: "clang-diagnostic-error" in text, passed, _excused)

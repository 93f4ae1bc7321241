"""No bare mutex in src/: Clang sees through those of src/system alone, and lint.py asks it what is used
without the mutex that guards it."""

import re

from tree import Finding, is_test, without_noise

OURS = ("src/system/mutex.h", "src/system/shared_mutex.h")
# Locks that the check cannot see through.
_BARE = re.compile(r"\bstd::(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex\b|"
                   r"\bstd::condition_variable\b(?!_any)")


def thread_safety(tree):
    """No bare mutex in src/."""
    for path in tree.code("src"):
        if path in OURS or is_test(path):
            continue
        for number, code in enumerate(without_noise(tree.text(path)).split("\n"), 1):
            if match := _BARE.search(code):
                yield Finding(path, number, f"{match.group(0)}: take its like in {' or '.join(OURS)}")

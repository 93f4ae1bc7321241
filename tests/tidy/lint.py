"""clang-tidy over src/ and include/, and Clang's -Wthread-safety: what a mutex guards is used with it held."""

import os
import re

import unity
from together import flags, passed_by, read_together
from tree import is_test

# The whole tree is read as so many files. Each reads the standard headers again, which costs as much as
# a hundred of ours: more would only use more processors.
PARTS = 2

_THREADS = ("-Wno-everything", "-Wthread-safety", "-Wthread-safety-beta")
_BY_VALUE = "performance-unnecessary-value-param"

# They cost a third of all checks, for each looks at every expression of every header of the standard too. They find
# what is slow, or what reads worse; or what the compilers warn of in each build, most of it (a conversion that loses, an
# empty body).
AT_NIGHT = (
    "bugprone-assert-side-effect",
    "bugprone-misplaced-widening-cast",
    "bugprone-multiple-statement-macro",
    "bugprone-narrowing-conversions",
    "bugprone-not-null-terminated-result",
    "bugprone-suspicious-semicolon",
    "misc-definitions-in-headers",
    "misc-unused-using-decls",
    "modernize-redundant-void-arg",
    "modernize-use-using",
    "performance-move-const-arg",
    "performance-type-promotion-in-math-fn",
    "performance-unnecessary-copy-initialization",
    _BY_VALUE,
    "readability-container-size-empty",
)


def _clash(name, other):
    """Whether two files that define these do not compile together. Overloads do."""
    def parameters(one):
        return one.text.partition(f"{one.name}(")[2]
    if name.kind == other.kind == "function" and parameters(name) != parameters(other):
        return False
    return name.scope == other.scope and name.collides(other)


def _parts(tree, stale, everything):
    """The stale files in as many lists as their share of the whole tree is worth. Two rooms may use one
    local name: such files stand in two lists, or else both lists would be read twice."""
    def size(paths):
        return sum(len(tree.text(path)) for path in paths)
    count = -(-PARTS * size(stale) // max(size(everything), 1))
    share, taken = size(stale) / max(count, 1) + 1, 0
    parts = [([], {}) for _ in range(count)]
    for path in stale:
        names, first = list(unity.names(path, tree.text(path))), int(taken // share)
        free = (part for part in parts[first:] + parts[:first]
                if not any(_clash(name, other) for name in names for other in part[1].get(name.name, ())))
        if (part := next(free, None)) is None:
            parts.append(part := ([], {}))
        part[0].append(path)
        for name in names:
            part[1].setdefault(name.name, []).append(name)
        taken += size([path])
    return [paths for paths, _ in parts]


def _stands_in(path):
    """Whether it stands in for code that is not built. It defines the same, so the two do not compile together."""
    return "/absent/" in path or path.endswith("_absent.cc")


def _excused(path, text):
    """A stand-in takes what that code takes, and needs none of it."""
    return _BY_VALUE in text and _stands_in(path)


def lint(tree):
    """Runs the checks of .clang-tidy over every file of src/ and every public header. At night
    (SEMEL_NIGHTLY=1) AT_NIGHT too, and the stand-ins: they compile with none of the others, and are short."""
    night = "SEMEL_NIGHTLY" in os.environ
    without = [f"-{check}" for check in AT_NIGHT]
    checks = ",".join(["clang-diagnostic-thread-safety*", *(() if night else without)])

    def command(whole):
        return ["clang-tidy", "--quiet", f"--config-file={tree.root / '.clang-tidy'}", f"--checks={checks}",
                f"--header-filter=^{re.escape(str(tree.root))}/(src|include)/", str(whole), "--",
                *_THREADS, *flags(tree)]
    everything = [p for p in tree.code("include") if p.endswith(".h")]
    everything += [p for p in tree.code("src") if p.endswith(".cc") and not is_test(p)]
    passed = passed_by(tree, command, (tree.root / ".clang-tidy").read_bytes())
    stale = [path for path in everything if not passed.has(path)]
    groups = _parts(tree, [path for path in stale if not _stands_in(path)], everything)
    if night:
        groups.append([path for path in stale if _stands_in(path)])
    yield from read_together(tree, groups, command,
                             lambda text: "clang-diagnostic-error" in text, passed, _excused)

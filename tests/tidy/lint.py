"""clang-tidy over src/ and include/, many files as one: reading the standard headers is most of the
work, and so it is done a few times only. What has passed is not read again until it changes."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

from passed import Passed, versions
from tree import Finding, is_test, library_flags

# The whole tree is read as so many files. More use more processors, and read more headers again.
PARTS = 4

_FLAGS = ["-std=c++20", "-w", "-ferror-limit=0"]
_TOLD = re.compile(r"^(\S+?):(\d+):\d+: (?:error|warning): (.*)$", re.MULTILINE)
_DOES_NOT_COMPILE = "clang-diagnostic-error"


def _clang_tidy(tree, paths, whole):
    """The findings of one clang-tidy run over these files, read as one."""
    whole.write_text("".join(f'#include "{tree.root / p}"  // NOLINT\n' for p in paths))
    run = subprocess.run(
        ["clang-tidy", "--quiet", f"--config-file={tree.root / '.clang-tidy'}",
         f"--header-filter=^{re.escape(str(tree.root))}/(src|include)/", str(whole), "--",
         *_FLAGS, f"-I{tree.root}/include", f"-I{tree.root}/src", f"-I{tree.root}", *library_flags()],
        cwd=tree.root, check=False, capture_output=True, text=True)
    findings = []
    for path, line, text in _TOLD.findall(run.stdout):
        shown = os.path.relpath(path, tree.root) if os.path.isabs(path) else path
        findings.append(Finding(shown, int(line), text))
    if run.returncode != 0 and not findings:
        findings.append(Finding(paths[0], 0, f"{_DOES_NOT_COMPILE}: clang-tidy failed: "
                                             f"{run.stderr.strip()[-400:]}"))
    return findings


def _part(tree, paths, passed, whole):
    """The findings in these files, and those that have passed remembered. Two files of two rooms may
    use one local name: those that do not compile behind the others are read apart."""
    findings = _clang_tidy(tree, paths, whole)
    failed = {f.path for f in findings if _DOES_NOT_COMPILE in f.text}
    if not failed:
        passed.add_unless_found(paths, findings)
        return findings
    if len(paths) == 1:
        return findings
    good = [p for p in paths if p not in failed]
    apart = [p for p in paths if p in failed]
    groups = [good, apart] if good and apart else [[p] for p in paths]
    return [f for group in groups for f in _part(tree, group, passed, whole)]


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
    return [part for part in parts if part]


def lint(tree):
    """What .clang-tidy names, in every file of src/ and every public header."""
    everything = [p for p in tree.code("include") if p.endswith(".h")]
    everything += [p for p in tree.code("src") if p.endswith(".cc") and not is_test(p)]
    passed = Passed(tree, "lint", pathlib.Path(__file__).read_bytes(), versions("clang-tidy"),
                    (tree.root / ".clang-tidy").read_bytes(), library_flags())
    stale = [path for path in everything if not passed.has(path)]
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(_part, tree, part, passed, pathlib.Path(scratch) / f"part_{n}.cc")
                for n, part in enumerate(_parts(tree, stale, everything))]
        seen = {finding for run in runs for finding in run.result()}
    yield from sorted(seen, key=str)

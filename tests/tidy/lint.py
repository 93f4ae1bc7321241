"""clang-tidy over src/ and include/, many files as one: reading the standard headers is most of the
work, and so it is done a few times only."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

from tree import Finding, is_test, library_flags

# Of all the files, read as one each. More use more processors, and read more headers again.
PARTS = 4

_TOLD = re.compile(r"^(\S+?):(\d+):\d+: (?:error|warning): (.*)$", re.MULTILINE)


def _clang_tidy(tree, paths, whole, *options):
    """The findings of one clang-tidy run over these files, read as one."""
    whole.write_text("".join(f'#include "{tree.root / p}"  // NOLINT\n' for p in paths))
    run = subprocess.run(
        ["clang-tidy", "--quiet", f"--config-file={tree.root / '.clang-tidy'}", *options,
         f"--header-filter=^{re.escape(str(tree.root))}/(src|include)/", str(whole), "--",
         "-std=c++20", "-w", "-ferror-limit=0", "-DSEMEL_FAILPOINTS=1", f"-I{tree.root}/include", f"-I{tree.root}/src",
         f"-I{tree.root}", *library_flags()],
        cwd=tree.root, check=False, capture_output=True, text=True)
    findings = []
    for path, line, text in _TOLD.findall(run.stdout):
        shown = os.path.relpath(path, tree.root) if os.path.isabs(path) else path
        findings.append(Finding(shown, int(line), text))
    if run.returncode != 0 and not findings:
        findings.append(Finding(paths[0], 0, f"clang-tidy failed: {run.stderr.strip()[-400:]}"))
    return findings


def _compatible(tree, paths, whole):
    """Splits the files into lists that compile as one: two files may use one local name."""
    while paths:
        told = _clang_tidy(tree, paths, whole, "--checks=-*,google-explicit-constructor")
        failed = {f.path for f in told if "clang-diagnostic-error" in f.text}
        good = [p for p in paths if p not in failed]
        if not good:  # what fails in any company is told when it is read alone
            yield from ([p] for p in paths)
            return
        yield good
        paths = [p for p in paths if p in failed]


def _part(tree, paths, scratch, number):
    whole = pathlib.Path(scratch) / f"part_{number}.cc"
    return [finding for group in _compatible(tree, paths, whole)
            for finding in _clang_tidy(tree, group, whole)]


def _size(tree, path):
    return len(tree.text(path))


def lint(tree):
    """What .clang-tidy names, in every file of src/ and every public header."""
    paths = [p for p in tree.code("src") if p.endswith(".cc") and not is_test(p)]
    headers = [p for p in tree.code("include") if p.endswith(".h")]
    share = sum(_size(tree, p) for p in paths) / PARTS + 1
    parts, taken = [list(headers)] + [[] for _ in range(PARTS - 1)], 0
    for path in paths:
        parts[int(taken // share)].append(path)
        taken += _size(tree, path)
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(_part, tree, part, scratch, n) for n, part in enumerate(parts) if part]
        seen = {finding for run in runs for finding in run.result()}
    yield from sorted(seen, key=str)

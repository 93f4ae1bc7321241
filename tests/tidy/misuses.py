"""Programs that use the library as its headers forbid do not compile, each for its own line."""

import os
import re
import subprocess

from together import compiler
from tree import Finding

HEADER = "include/semel/verdict.h"
_PROGRAM = """#include <chrono>
#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/transaction.h>
#include <semel/verdict.h>
using std::chrono::seconds;
void all(semel::Verdict verdict, semel::Transaction& tx, semel::Arrival& arrival) {
  // right
  verdict = semel::done("receipt 17", {{"mails", {}}});
  verdict = semel::retry("busy", seconds(5));
  verdict = semel::Verdict::Dead{.reason = "cut off", .unknown = true};
  tx.exec("UPDATE t SET a = ?", 1).expect_rows(1, semel::dead("no such row"));
  arrival.tag = {};
  // wrong
  semel::Verdict nothing_said;
  verdict.after = seconds(5);
  semel::done().after = seconds(5);
  verdict = semel::done({}, seconds(5));
  verdict = semel::dead("never", seconds(5));
  verdict = semel::discard("a test", seconds(5));
  verdict = semel::Verdict::Done{.reason = "why"};
  verdict = semel::Verdict::Done{.after = seconds(5)};
  verdict = semel::Verdict::Dead{.after = seconds(5)};
  verdict = semel::Verdict::Discard{.unknown = true};
  verdict = semel::Verdict::Retry{.result = "receipt 17"};
  verdict = semel::Verdict::Dead{.publications = {}};
  verdict = semel::retry("busy").publish("mails", {});
  verdict.kind() = semel::Verdict::Kind::kDone;
  verdict.reason().clear();
  tx.exec("UPDATE t SET a = 1").expect_rows(1);
  tx.recorded();
  tx.commit();
  arrival.follows = true;
  arrival.trial = 1;
  (void)semel::failpoint::kAll;
}
"""


def _refused(tree, compiler_name):
    """The lines of _PROGRAM in which this compiler finds an error, and what it says."""
    run = subprocess.run(
        [compiler_name, "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never",
         *(["-ferror-limit=0"] if "clang" in compiler_name else []), f"-I{tree.root}/include", "-x", "c++", "-"],
        input=_PROGRAM, cwd=tree.root, check=False, capture_output=True, text=True)
    return {int(n) for n in re.findall(r"^<stdin>:(\d+):\d+: error:", run.stderr, re.MULTILINE)}, run.stderr


def misuses(tree):
    """Both compilers refuse each wrong line, and no right one."""
    lines = _PROGRAM.split("\n")
    begin = next(n for n, line in enumerate(lines, 1) if "// wrong" in line)
    wrong = set(range(begin + 1, len(lines) - 1))
    for name in filter(None, (os.environ.get("CXX", "g++"), compiler())):
        refused, said = _refused(tree, name)
        for number in sorted(wrong - refused):
            yield Finding(HEADER, 1, f"{name} compiles: {lines[number - 1].strip()}")
        for number in sorted(refused - wrong):
            yield Finding(HEADER, 1, f"{name} refuses: {lines[number - 1].strip()}: {said[:400]}")

"""A Result that nobody looks at is told by the compiler, wherever it comes from."""

import os
import re
import subprocess

from together import compiler
from tree import Finding

HEADER = "include/semel/result.h"
_CALLS = """#include <semel/result.h>
#include <functional>
#include <memory>
using semel::Result;
struct Port {
  virtual ~Port() = default;
  virtual Result<void> close() = 0;
};
Result<void> nothing();
Result<int> number(int n);
template <class T> Result<T> same(T value) { return value; }
void all(Port& port, const std::shared_ptr<Port>& shared, const std::function<Result<int>(int)>& function) {
  const auto lambda = [](int n) { return number(n); };
  const Result<int> kept = function(1);
  static_cast<void>(kept);
  // discarded
  nothing();
  number(1);
  port.close();
  shared->close();
  function(1);
  lambda(1);
  [] { nothing(); }();
  same(std::string("a"));
  semel::failure({});
}
"""


def _heard(tree, compiler_name):
    """The lines of _CALLS that this compiler warns of, and all that it says."""
    run = subprocess.run(
        [compiler_name, "-std=c++20", "-fsyntax-only", f"-I{tree.root}/include", "-x", "c++", "-"],
        input=_CALLS, cwd=tree.root, check=False, capture_output=True, text=True)
    return {int(n) for n in re.findall(r"^<stdin>:(\d+):\d+: warning: ignoring", run.stderr, re.MULTILINE)}, run


def results(tree):
    """Both compilers warn of each discarded Result, and of nothing else."""
    lines = _CALLS.split("\n")
    begin = next(n for n, line in enumerate(lines, 1) if "// discarded" in line)
    discarded = set(range(begin + 1, len(lines) - 1))
    for name in filter(None, (os.environ.get("CXX", "g++"), compiler())):
        told, run = _heard(tree, name)
        if run.returncode != 0:
            yield Finding(HEADER, 1, f"{name}: {run.stderr.strip()[-400:]}")
        for number in sorted(discarded ^ told):
            yield Finding(HEADER, 1, f"{name} is silent about: {lines[number - 1].strip()}"
                          if number in discarded else f"{name} tells of: {lines[number - 1].strip()}")

"""Names that only one file of a program may define: a unity build compiles many files as one, and
GoogleTest knows a suite by its name alone."""

import collections
import posixpath
import re
from dataclasses import dataclass

from tree import Finding, is_test, without_noise

FOLDERS = ("src", "tests", "benchmarks")


@dataclass(frozen=True)
class Name:
    """A name that a file defines outside of functions and classes."""

    path: str
    line: int
    scope: str  # "semel::core"; anonymous namespaces add nothing
    name: str
    kind: str
    local: bool  # to its file
    text: str

    def may_repeat(self, other):
        """One alias or using-declaration of one thing may be written twice; operators and printers
        are overloaded by their types."""
        if self.kind == "using" and f"{other.scope}::{self.name};".endswith(self.text.split()[-1]):
            return True
        return self.name.startswith(("operator", "PrintTo")) or \
            self.kind in ("alias", "using") and self.text == other.text

    def collides(self, other):
        """In one scope two definitions; in a nested one the inner hides the outer."""
        near = self.scope == other.scope or other.scope.startswith(self.scope + "::") or \
            self.scope.startswith(other.scope + "::")
        return self.path != other.path and (self.local or other.local) and near and \
            not self.may_repeat(other)


_NAMESPACE = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{")
_ALIAS = re.compile(r"(?:using|namespace) (\w+) =|typedef [^;]*\b(\w+)$")
_USING = re.compile(r"using (?:typename )?[\w:]*::(\w+)$")
_TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?) (?:alignas\([^)]*\) )?(\w+)\b(?!::)")
_DECLARES_ONLY = re.compile(r"(?:using|friend|struct|class|union|enum|static_assert|extern)\b[^(={]*$")
_ANGLES = re.compile(r"<[^<>={;]*>|\[\[[^\]]*\]\]|\b(?:alignas|decltype|noexcept)\([^()]*\)")
_NAMED = re.compile(r"(::|~)?\b(operator ?[^\w\s(]+|\w+) ?(?=[({=\[;]|$)")
_GTEST = re.compile(r"^((?:TYPED_)?TEST(?:_[FP])?)\((\w+),\s*(\w+)\)", re.MULTILINE)
_INSTANTIATED = re.compile(r"^INSTANTIATE_(?:TYPED_)?TEST_SUITE_P\(\s*(\w+),\s*(\w+)", re.MULTILINE)


def _statements(text):
    """(line, namespaces, statement) of each that begins in the first column, where clang-format puts
    all that is in no function and no class. A statement ends before its body."""
    spaces, head, first = [], "", 0
    lines = zip(text.split("\n"), without_noise(text).split("\n"))
    for number, (raw, line) in enumerate(lines, 1):
        if raw.startswith("}"):
            if raw.startswith("}  // namespace"):
                del spaces[-1:]
            head = ""
        elif not head and (opened := _NAMESPACE.match(line)):
            spaces.append(opened[1] or "")
        elif head or re.match(r"\w|\[\[", line):
            first = first if head else number
            head = f"{head} {line.strip()}".strip()
            if re.search(r"[{;]", head):
                yield first, tuple(spaces), head
                head = ""


def _kind_and_name(statement):
    """(kind, name) of what a statement without its template head defines, or None."""
    plain = statement.split(";")[0].strip()
    if match := _ALIAS.match(plain):
        return "alias", match[1] or match[2]
    if match := _USING.match(plain):
        return "using", match[1]
    if (match := _TYPE.match(plain)) and "{" in plain and "(" not in plain.split("{")[0]:
        return "type", match[1]
    if _DECLARES_ONLY.match(plain) or _GTEST.match(plain) or _INSTANTIATED.match(plain):
        return None
    while (shorter := _ANGLES.sub("", plain)) != plain:
        plain = shorter
    match = _NAMED.search(plain)
    if not match or match[1] or match.start() == 0:
        return None
    return "function" if plain[match.end():].startswith("(") else "variable", match[2]


def names(path, text):
    """The names that a file defines, or declares, in its namespaces."""
    for line, spaces, statement in _statements(text):
        plain = re.sub(r"^template <.*?> (?=\w)", "", statement)
        if not (found := _kind_and_name(plain)):
            continue
        kind, name = found
        constant = kind == "variable" and re.match(r"(constexpr|const)\b", plain)
        local = "" in spaces or kind in ("alias", "using") or re.match(r"static\b", plain) or constant
        scope = "::".join(space for space in spaces if space)
        yield Name(path, line, scope, name, kind, bool(local), plain)


_WORD = re.compile(r"[^\s()\"]+")


def _listed(tree, cmake):
    """The sources that a CMakeLists.txt takes from other folders."""
    text, here = tree.text(cmake), posixpath.dirname(cmake)
    known = {"PROJECT_SOURCE_DIR": "", "CMAKE_CURRENT_SOURCE_DIR": here}
    known.update(re.findall(r"set\((\w+) (\$\{\w+\}[^\s)]*)\)", text))
    for word in _WORD.findall(text):
        if not word.endswith(".cc") or "/" not in word:
            continue
        whole = word if word.startswith("$") else f"{here}/{word}"
        while (resolved := re.sub(r"\$\{(\w+)\}", lambda m: known.get(m[1], m[1]), whole)) != whole:
            whole = resolved
        path = posixpath.normpath(whole.lstrip("/"))
        if path in tree.paths:
            yield path


def _units(tree):
    """{(folder with a CMakeLists.txt, tests?): its files}: any may be compiled as one."""
    rooms = {posixpath.dirname(p) for p in tree.paths if p.endswith("/CMakeLists.txt")}
    units = collections.defaultdict(list)
    for path in tree.code(*FOLDERS):
        room = posixpath.dirname(path)
        while room and room not in rooms:
            room = posixpath.dirname(room)
        units[room, is_test(path)].append(path)
    for room in rooms:
        for path in _listed(tree, f"{room}/CMakeLists.txt"):
            if path not in units[room, is_test(path)]:
                units[room, is_test(path)].append(path)
    return units


def _collisions(paths, defined):
    """Names of the sources of one unit that are defined there twice, or in the headers beside them."""
    seen = collections.defaultdict(list)
    for path in sorted(paths, key=lambda p: (p.endswith(".cc"), p)):
        for name in defined[path]:
            other = next((o for o in seen[name.name] if name.collides(o)), None)
            if other and path.endswith(".cc"):
                yield Finding(path, name.line, f"{name.name} is in {other.path}:{other.line} too: they "
                                               "collide where both are compiled as one")
            seen[name.name].append(name)


def _leaks(path, text):
    """Macros and using directives that a source leaves to those compiled behind it."""
    code = without_noise(text)
    for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", code, re.MULTILINE):
        if not re.search(rf"^[ \t]*#[ \t]*undef[ \t]+{match[1]}\b", code[match.end():], re.MULTILINE):
            yield Finding(path, code.count("\n", 0, match.start()) + 1,
                          f"{match[1]}: a macro of a source file needs an #undef at its end")
    for match in re.finditer(r"^using namespace ([\w:]+);", code, re.MULTILINE):
        if not match[1].endswith("literals"):
            yield Finding(path, code.count("\n", 0, match.start()) + 1,
                          f"using namespace {match[1]}: it holds for the files compiled behind this one")


def _suites(tree, tests, shared):
    """Test suites, over the whole tree: two of one name cannot be linked into one program."""
    suites, made = {}, {}
    for path in tests:
        for macro, suite, test in _GTEST.findall(tree.text(path)):
            where = suites.setdefault(suite, path)
            if where != path and (macro == "TEST" or suite not in shared):
                yield Finding(path, 1, f"suite {suite} is in {where} too: name it otherwise, or share "
                                       "its fixture in a header")
            where = made.setdefault((suite, test), path)
            if where != path:
                yield Finding(path, 1, f"test {suite}.{test} is in {where} too")
        for prefix, suite in set(_INSTANTIATED.findall(tree.text(path))):
            where = made.setdefault((prefix, suite, "instantiated"), path)
            if where != path:
                yield Finding(path, 1, f"{suite} is instantiated as {prefix} in {where} too")


def _exported_by_tests(tests, defined, declared):
    """A name that a test's source exports is declared in a header, or is defined once in all tests."""
    seen = {}
    for path in tests:
        for name in defined[path]:
            if name.local or name.name == "main" or (name.scope, name.name) in declared:
                continue
            other = seen.setdefault((name.scope, name.name), name)
            if other.path != path:
                yield Finding(path, name.line, f"{name.scope}::{name.name} is in {other.path} too: the "
                                               "linker would make them one")


def unity(tree):
    """No two sources that may be compiled as one, or linked into one, define the same name."""
    code = tree.code(*FOLDERS, "include")
    defined = {path: list(names(path, tree.text(path))) for path in code}
    contract = [path for path in code if path.startswith("include/")]
    found, units = [], _units(tree)
    for (room, of_tests), paths in units.items():
        tested = [p for p in units.get((room, False), []) if of_tests and p.endswith(".h")]
        found += _collisions(paths + tested + contract, defined)
    tests = [path for path in code if path.endswith(".cc") and is_test(path)]
    headers = [name for path in code if path.endswith(".h") for name in defined[path]]
    for path in code:
        if path.endswith(".cc"):
            found += _leaks(path, tree.text(path))
    found += _suites(tree, tests, {name.name for name in headers if name.kind in ("type", "alias")})
    found += _exported_by_tests(tests, defined, {(name.scope, name.name) for name in headers})
    yield from dict.fromkeys(found)

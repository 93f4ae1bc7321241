"""Comments and pages say what is so: the files, names, rules, rooms and tests they speak of are there."""

import posixpath
import re

import rooms
from tree import Finding, comments, without_comments

CODE = ("include", "src", "tests", "benchmarks", "examples", "cmake")
CONTRACT = "docs/contract.md"

# --- What is read: comments of code, lines of pages.

_SCRIPT = re.compile(r"(?:^|(?<=\s))#(?P<said>[^\n]*)", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def _is_script(tree, path):
    return path.endswith((".py", ".cmake", ".cmake.in", "CMakeLists.txt", ".sh")) or \
        re.match(r"#!.*\b(ba)?sh\b", tree.text(path)[:40])


def spoken(tree, *, pages=True):
    """(path, line, text) of all that a person wrote for a person: comments, and pages less code."""
    for path in tree.paths:
        text = tree.text(path)
        if path.startswith(tuple(f + "/" for f in CODE)) and path.endswith((".h", ".cc")):
            for line, said in comments(text):
                yield path, line, said
        elif path.endswith(".md"):
            # An entry of a changelog was true when it was written.
            if pages and path != "CHANGELOG.md":
                yield path, 1, _BLOCK.sub(lambda m: "\n" * m[0].count("\n"), text)
        # The self test is full of examples of what is refused.
        elif _is_script(tree, path) and path != "tests/tidy/self_test.py":
            for match in _SCRIPT.finditer(text):
                yield path, text.count("\n", 0, match.start()) + 1, match["said"]


def _at(path, line, said, match, text):
    return Finding(path, line + said.count("\n", 0, match.start()), text)


# --- Files.

# A file of ours by its name: with an ending that only files of a repository have, or below one of
# its folders. Capital letters and braces stand for any name.
_FILE = re.compile(
    r"(?<![\w.~$*<:/{-])(?:"
    r"(?P<below>(?:include|src|tests|docs|benchmarks|examples|cmake)/[\w./-]*\w)"
    r"|(?P<name>(?:[\w-]+/|\.\./)*[\w-]+\.(?:h|cc|py|md|cmake)))(?![\w*({<]|\.\w|/\w)")
# Files of others, and names that stand for any.
_FOREIGN_FILES = {"amqp.h", "sysexits.h", "linux/magic.h", "src/include/catalog/pg_type.dat", "x.cc",
                  "x_test.cc"}


def _beside(tree, path, name):
    """The places that `name` may mean in a file at `path`."""
    here = posixpath.dirname(path)
    yield posixpath.normpath(posixpath.join(here, name))
    yield from (name, f"src/{name}", f"include/{name}", f"docs/{name}")
    yield from (f"include/semel/{audience}{name}" for audience in ("", "spi/", "admin/"))
    # The part of a room that is above: stores/sql for stores/sqlite, the suites for their cases.
    yield posixpath.normpath(posixpath.join(posixpath.dirname(here), name))


def cited_files(tree):
    """A file or folder that a comment or page names is there."""
    there = set(tree.paths)
    for path in tree.paths:
        there.update(f"{path[:n.start()]}" for n in re.finditer("/", path))
    for path, line, said in spoken(tree):
        for match in _FILE.finditer(said):
            name = match["below"] or match["name"]
            if name in _FOREIGN_FILES or re.search(r"/[A-Z]{3,}|_[A-Z]{3,}$", name):
                continue
            if name.startswith("semel/") and f"include/{name}" in there:
                continue
            if not any(place in there for place in _beside(tree, path, name)):
                yield _at(path, line, said, match, f"{name} is not there")


# --- Names.

_NAME = re.compile(
    r"\bk[A-Z]\w+|\b[A-Za-z_]\w*(?=\(\))|\b\w+::~?\w+(?:::\w+)*|\b[a-z]\w*_\w+\b|"
    r"\b[A-Z]+[a-z0-9]+[A-Z]\w*|`[A-Za-z_]\w*`")
# On pages, of what stands in backticks.
_QUOTED = re.compile(r"`[^`\n]+`")
_NAME_ON_PAGE = re.compile(r"\bk[A-Z]\w+|\b\w+::~?\w+(?:::\w+)*|\b[a-z]\w*_\w+\b|\b[A-Z]+[a-z0-9]+[A-Z]\w*")
# Names that are others' own: companies, standards, what a server calls its tables and functions.
_FOREIGN_NAMES = {
    "SplitMix64", "GitHub", "OpenTelemetry", "W3C", "rand_a", "rand_b", "amqp_status_enum", "pg_type", "to_regclass",
    "innodb_trx", "innodb_rollback_on_timeout", "semel_completed_7", "https_proxy", "jsonb_exists",
    "array_append", "synchronous_standby_names", "PascalCase", "snake_case", "CMakePresets"}


def _words_of_code(tree):
    """Every word of the tree that no comment and no page says."""
    words = {"std"}
    for path in tree.paths:
        if path.endswith(".md"):
            continue
        text = tree.text(path)
        if path.endswith((".h", ".cc")):
            text = without_comments(text)
        elif _is_script(tree, path):
            text = _SCRIPT.sub(" ", text)
        words.update(re.findall(r"\w+", text))
    return words


def cited_names(tree):
    """A function, type, constant or field that a comment or a page names is in the code."""
    words = _words_of_code(tree) | _FOREIGN_NAMES
    for path, line, said in spoken(tree):
        page = path.endswith(".md")
        if not page and not path.endswith((".h", ".cc")):
            continue
        if page:
            # Only what stands in backticks; lines keep their numbers.
            said = "\n".join(" ".join(_QUOTED.findall(row)) for row in said.split("\n"))
        for match in (_NAME_ON_PAGE if page else _NAME).finditer(said):
            for word in re.findall(r"\w+", match[0]):
                if word not in words:
                    yield _at(path, line, said, match, f"{word} is nowhere in the code")


# --- Rules of the contract, and the tests that hold them.

_ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
_RULE = re.compile(r"(?P<page>docs/contract\.md,\s+)?\brules?\s+(?P<number>\d+)\b")
_ELSEWHERE = re.compile(r"\b(?:design|contract),?\s+(?:document|section|chapter|note)\b", re.IGNORECASE)
_TESTS = re.compile(r"^Tests:(.*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)


def _defines(text, test):
    suite, _, name = test.partition(".")
    return re.search(rf"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*{suite}\s*,\s*{name}\s*\)", text)


def _held(tree, text, line):
    """The errors in the tests that a rule names."""
    named = _TESTS.search(text)
    if not named:
        yield Finding(CONTRACT, line, "a rule without its tests: Tests: `file`: `Suite.Name`")
        return
    file, tests = None, 0
    for quoted in re.finditer(r"`([^`]+)`", named[1]):
        at = line + text.count("\n", 0, named.start(1) + quoted.start())
        if "/" in quoted[1]:
            file = quoted[1] if quoted[1] in tree.paths else None
            if file is None:
                yield Finding(CONTRACT, at, f"{quoted[1]} is not there")
                tests += 1
        elif file:
            tests += 1
            if not _defines(tree.text(file), quoted[1]):
                yield Finding(CONTRACT, at, f"{file} has no test {quoted[1]}")
    if not tests:
        yield Finding(CONTRACT, line, "a rule that names no test")


def cited_rules(tree):
    """Each rule of the contract names tests that are there; each rule that code cites is there."""
    text = tree.text(CONTRACT) if CONTRACT in tree.paths else ""
    anchors = list(re.finditer(r'<a id="rule-(\d+)"></a>', text))
    for number, anchor in enumerate(anchors, 1):
        line = text.count("\n", 0, anchor.start()) + 1
        if int(anchor[1]) != number:
            yield Finding(CONTRACT, line, f"rule {anchor[1]} stands where rule {number} should")
        end = anchors[number].start() if number < len(anchors) else len(text)
        yield from _held(tree, text[anchor.start():end].split("\n## ")[0], line)
    rules = {int(anchor[1]) for anchor in anchors}
    for path, line, said in spoken(tree, pages=False):
        if path.startswith("tests/tidy/"):
            continue
        for match in _RULE.finditer(said):
            if not match["page"]:
                yield _at(path, line, said, match, f"\"{match[0]}\" of what? Say: {CONTRACT}, rule N")
            elif int(match["number"]) not in rules:
                yield _at(path, line, said, match, f"{CONTRACT} has no rule {match['number']}")
        for match in _ELSEWHERE.finditer(said):
            yield _at(path, line, said, match, "cite a page of this repository, by its path")


_LINK = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")


def _anchors_of(text):
    """The anchors of a page: its own, and GitHub's of its headings."""
    yield from _ANCHOR.findall(text)
    for heading in re.findall(r"^#+ (.*)$", _BLOCK.sub("", text), re.MULTILINE):
        plain = re.sub(r"\]\([^)]*\)|<[^>]*>", "", heading).lower().strip()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(tree):
    """A link into a page leads to a heading or an anchor there."""
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        text = tree.text(path)
        for match in _LINK.finditer(text):
            page = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1])) \
                if match[1] else path
            if page in tree.paths and match[2] not in _anchors_of(tree.text(page)):
                line = text.count("\n", 0, match.start()) + 1
                yield Finding(path, line, f"{page} has no anchor #{match[2]}")


# --- Rooms.

ARCHITECTURE = "ARCHITECTURE.md"
_ROW = re.compile(r"^\| (?P<rooms>`[^|]*) \| [^|]* \| (?P<knows>[^|]*) \|$", re.MULTILINE)


def _closure(names):
    known, open_ = set(), list(names)
    while open_:
        room = open_.pop()
        if room not in known:
            known.add(room)
            open_.extend(rooms.KNOWS.get(room, ()))
    return known


def _said(words):
    """The rooms that the last column of a row names, and all that those know."""
    words = words.replace("`", "").strip()
    if words.startswith("all"):
        _, _, but = words.partition(" but ")
        return set(rooms.KNOWS) - {name.strip() for name in but.split(",")}
    if words in ("nothing", "the contract"):
        return set()
    return _closure(name.strip() for name in words.split(","))


def room_rows(tree):
    """The rooms of src/, those that may know each other, and the rows of ARCHITECTURE.md are the same."""
    text = tree.text(ARCHITECTURE) if ARCHITECTURE in tree.paths else ""
    folders = {rooms.room_of(path) for path in tree.code("src")} - {None}
    listed = set()
    for row in _ROW.finditer(text):
        line = text.count("\n", 0, row.start()) + 1
        for name in re.findall(r"`([^`]+)`", row["rooms"]):
            room = name.removeprefix("src/")
            if name == "include/semel":
                continue
            listed.add(room)
            if room not in rooms.KNOWS:
                yield Finding(ARCHITECTURE, line, f"{name} is no room of tests/tidy/rooms.py")
                continue
            wrong = (_said(row["knows"]) - {room}) ^ (rooms.KNOWS[room] - {room})
            if wrong:
                yield Finding(ARCHITECTURE, line, f"{name} may know {', '.join(sorted(rooms.KNOWS[room]))}: "
                                                  f"the row differs in {', '.join(sorted(wrong))}")
    for room in sorted(set(rooms.KNOWS) - listed):
        yield Finding(ARCHITECTURE, 1, f"src/{room} has no row")
    for room in sorted(set(rooms.KNOWS) - folders):
        yield Finding("tests/tidy/rooms.py", 1, f"src/{room} is not there")

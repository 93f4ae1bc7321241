"""What the pages show is what the tests run."""

import pathlib
import re
import sys

from tree import Finding, comments

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"))
import navigation as site  # noqa: E402

# A block of these languages says in a comment before it which file it comes from, and is a part of
# that file: <!-- examples/payments-sql/semel.yaml -->
CHECKED = {"cpp", "yaml", "sql", "cmake", "console", "json", "python"}
# Pages whose blocks are checked by a test of their own, named here.
ELSEWHERE = {"docs/config.md": "config", "docs/cli.md": "cli"}

_BLOCK = re.compile(r"(?:<!-- (\S+) -->\n+)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def _stripped(text):
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def _part_of(block, whole):
    """True where the block's lines stand in `whole` in one piece, whatever their common indent."""
    wanted, lines = _stripped(block), _stripped(whole)
    for start in range(len(lines) - len(wanted) + 1):
        piece = lines[start:start + len(wanted)]
        indent = min((len(l) - len(l.lstrip()) for l in piece if l), default=0)
        if piece == wanted or [l[indent:] for l in piece] == wanted:
            return True
    return False


def docs(tree):
    """Each block of code or config is a part of a file that is run; each link leads somewhere."""
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        text = tree.text(path)
        for match in _BLOCK.finditer(text):
            source, language, block = match.groups()
            line = text.count("\n", 0, match.start(2)) + 1
            if language not in CHECKED or path in ELSEWHERE:
                continue
            if source is None:
                yield Finding(path, line, f"a {language} block without <!-- the file it is from -->")
            elif source not in tree.paths:
                yield Finding(path, line, f"{source} is not there")
            elif not _part_of(block, tree.text(source)):
                yield Finding(path, line, f"differs from {source}")
        folder = (tree.root / path).parent
        for match in _LINK.finditer(re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), text,
                                           flags=re.DOTALL)):
            target = match.group(1)
            if "://" not in target and not target.startswith("mailto:"):
                if not (folder / target).exists():
                    line = text.count("\n", 0, match.start()) + 1
                    yield Finding(path, line, f"the link to {target} leads nowhere")
    if "README.md" in tree.paths and (lines := tree.text("README.md").count("\n")) > 180:
        yield Finding("README.md", lines, f"{lines} lines: 180 at most")


def navigation(tree):
    """Each page below docs/ is in docs/README.md, which is the navigation of the site, and what is named there is."""
    if site.NAVIGATION not in tree.paths:
        return
    named = site.pages(tree.text(site.NAVIGATION))
    for path in sorted(named):
        if path not in tree.paths:
            yield Finding(site.NAVIGATION, 1, f"{path} is not there")
    for path in tree.paths:
        if path.startswith("docs/") and path.endswith(".md") and path not in named | {site.NAVIGATION}:
            yield Finding(path, 1, f"is not in {site.NAVIGATION}: it has a line or a place in a group there")


# As they would stand in another language: an English sentence begins with its subject.
_SENTENCE = r"(?P<word>Of|Who|Whose|What|Those|Whatever|Whoever)\b(?P<rest>(?:[^.!?]|\.(?=\w))*(?:[.!?:]|\Z))"
_BEGINS = re.compile(r"(?:^|(?<=[.!?]) +|(?<=[.!?])\n *|^- |^\d+\. )" + _SENTENCE, re.MULTILINE)
# A comment's lines are one text.
_BEGINS_IN_COMMENT = re.compile(r"(?:\A\s*|(?<=[.!?:])\s+|\n\s*\n\s*|\n\s*- )" + _SENTENCE)


def _begun_late(text, begins):
    """(line, word) of each sentence that begins with another word than its subject; questions may."""
    for match in begins.finditer(text):
        if not match["rest"].endswith("?"):
            yield text.count("\n", 0, match.start("word")), match["word"]


def sentences(tree):
    """A sentence of docs and comments begins with what it is about. Headings, tables and questions are free."""
    code = tree.code("include", "src", "tests", "benchmarks", "examples")
    said = [(path, first, begun) for path in code for first, text in comments(tree.text(path)) for begun in
            _begun_late(text, _BEGINS_IN_COMMENT)]
    for path in tree.paths:
        if path != "README.md" and not (path.startswith("docs/") and path.endswith(".md")):
            continue
        text = re.sub(r"^(?:```.*?^```$|[|#][^\n]*)", lambda m: "\n" * m[0].count("\n"), tree.text(path),
                      flags=re.DOTALL | re.MULTILINE)
        said += [(path, 1, begun) for begun in _begun_late(text, _BEGINS)]
    for path, first, (line, word) in said:
        yield Finding(path, first + line, f"a sentence that begins with \"{word}\": begin with its subject")

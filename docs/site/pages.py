"""What the site is made of: the pages of the repository, made ready for mkdocs."""

import json
import pathlib
import posixpath
import re
import shutil
import subprocess

import navigation

_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
_LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json",
              ".jsonl": "json", ".sh": "bash", ".sql": "sql", ".txt": "text", ".cmake": "cmake"}
# Longer files, and those of no text, are linked as they are.
_LONGEST = 100_000


def _tracked(root):
    """The files of the repository, or all of a copy that git does not know."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=False, capture_output=True)
    if listed.returncode == 0:
        return {name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()}
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if path.parts[0] not in ("build", ".git")}


def _outside_of_code(text, change):
    """`text` with `change` made to all that is in no fenced block."""
    parts, last = [], 0
    for block in _FENCE.finditer(text):
        parts += [change(text[last:block.start()]), block[0]]
        last = block.end()
    return "".join([*parts, change(text[last:])])


def _separated(prose):
    """GitHub begins a list or a table without an empty line before it, mkdocs does not."""
    prose = re.sub(r"^(?!- |\d+\. |[ |]|$)(.*)\n(?=- )", r"\1\n\n", prose, flags=re.MULTILINE)
    return re.sub(r"^(<!-- .* -->)\n(?=\|)", r"\1\n\n", prose, flags=re.MULTILINE)


class _Stage:
    def __init__(self, root, staged):
        self.root, self.staged, self.tracked = root, staged, _tracked(root)
        self.sources, self.pictures = set(), set()

    def _target(self, path, target):
        """Where a link of the page at `path` leads on the site."""
        named = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if f"{named}/README.md" in self.tracked:
            named += "/README.md"
        if named in self.tracked and named.endswith(".svg"):
            self.pictures.add(named)
        elif named in self.tracked and not named.endswith(".md"):
            self.sources.add(named)
            named += ".md"
        return posixpath.relpath(named, posixpath.dirname(path) or ".")

    def _linked(self, path):
        return lambda prose: _LINK.sub(
            lambda m: f"]({self._target(path, m['target'])}{m['anchor'] or ''})", _separated(prose))

    def _write(self, path, text):
        place = self.staged / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def page(self, path):
        text = (self.root / path).read_text(encoding="utf-8")
        if re.fullmatch(r"examples/[\w-]+/README\.md", path):
            folder = posixpath.dirname(path) + "/"
            beside = sorted(n.removeprefix(folder) for n in self.tracked if n.startswith(folder) and n != path)
            text += "\n## Files\n\n" + "".join(f"- [{name}]({name})\n" for name in beside)
        self._write(path, _outside_of_code(text, self._linked(path)))

    def source(self, path):
        """A page that shows a file of the repository."""
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        name = posixpath.basename(path)
        language = "cmake" if name == "CMakeLists.txt" else _LANGUAGES.get(pathlib.Path(name).suffix, "")
        if not language and text.startswith("#!"):
            language = "python" if "python" in text.split("\n", 1)[0] else "bash"
        if len(text) > _LONGEST:
            text = text[:_LONGEST] + "\n…"
        self._write(f"{path}.md", f"# {name}\n\n`{path}`\n\n````{language or 'text'}\n{text}\n````\n")


def stage(root, staged):
    """Writes every page below `staged`, and one for each file that a page links."""
    work = _Stage(root, staged)
    for path in sorted(work.tracked):
        if path.endswith(".md"):
            work.page(path)
    for path in sorted(work.sources):
        work.source(path)
    for path in sorted(work.pictures):
        shutil.copy(root / path, staged / path)


def _tree(root, with_reference):
    """The navigation as mkdocs takes it."""
    text = (root / navigation.NAVIGATION).read_text(encoding="utf-8")
    tree = [{"Home": ["README.md", {"All pages": navigation.NAVIGATION}]}]
    for heading, entries in navigation.sections(text):
        section = []
        for group, title, path in entries:
            title = title[:1].upper() + title[1:]
            if group is None:
                section.append({title: path})
                continue
            if not section or group not in section[-1]:
                section.append({group: []})
            section[-1][group].append({title: path})
        if with_reference and heading == "In your C++ program":
            section.append({"Reference of the headers": "reference/index.html"})
        tree.append({heading: section})
    return tree


def write_config(root, template, target, with_reference):
    """mkdocs' config: the template, and the navigation. JSON is YAML."""
    nav = json.dumps(_tree(root, with_reference), ensure_ascii=False, indent=1)
    target.write_text(template.read_text(encoding="utf-8") + f"\nnav: {nav}\n", encoding="utf-8")

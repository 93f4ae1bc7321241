"""The navigation of the docs, read from docs/README.md."""

import posixpath
import re

NAVIGATION = "docs/README.md"
_LINK = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<target>[^)#\s]+)\)")


def sections(text):
    """[(heading, [(group or None, title, path)])]: paths are those of the repository."""
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        entries = []
        for item in re.findall(r"^- (.*(?:\n  .*)*)", body, re.MULTILINE):
            group, links = None, list(_LINK.finditer(item))
            if links and (named := re.match(r"([^\[]+): \[", item)):
                group = named[1]
            elif links:
                # What follows the title is about it: further links are no pages of the navigation.
                links = links[:1]
            for link in links:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(NAVIGATION), link["target"]))
                entries.append((group, link["title"].replace("`", ""), path))
        found.append((heading, entries))
    return found


def pages(text):
    """The paths of all pages that the navigation names."""
    return {path for _, entries in sections(text) for _, _, path in entries}

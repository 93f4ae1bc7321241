"""Looks whether every link of a built site leads somewhere."""

import html.parser
import pathlib
import urllib.parse


class _Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif value and ((tag == "a" and name == "href") or (tag in ("img", "script") and name == "src") or
                            (tag == "link" and name == "href")):
                self.links.append(value)


def broken(site, skip=""):
    """A line for each link within the site that leads to no file, or to no anchor of its page. Pages below the
    folder `skip` may be led to, and are not looked at themselves."""
    site = pathlib.Path(site)
    pages = {path: _Page(path.read_text(encoding="utf-8", errors="replace")) for path in site.rglob("*.html")
             if not skip or skip not in path.relative_to(site).parts[:1]}
    findings = []
    for path, page in sorted(pages.items()):
        if path.name == "404.html":
            continue
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                findings.append(f"{path.relative_to(site)}: {link} leads nowhere")
            elif url.fragment and target in pages and \
                    urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                findings.append(f"{path.relative_to(site)}: {link} has no such anchor")
    return findings

"""Anchors of headings as GitHub makes them, so that a link works in both places."""

import re


def github(text, _separator):
    return re.sub(r"[^\w\- ]", "", text.lower().strip()).replace(" ", "-")

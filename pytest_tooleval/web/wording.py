"""Messages in the words of the page: its controls in place of options."""

from __future__ import annotations

import re

from ..settings.options import FORM

_OPTION = re.compile(r"--tooleval-([a-z-]+)(?:=([\w.:-]*\w))?")
_IMPORT = {
    "--header NAME=VARIABLE": "“Headers”",
    "--sse": "“URL (HTTP with SSE, older)”",
    "--http": "“URL (streamable HTTP)”",
    " (--timeout)": "",
}


def in_page_words(text: str) -> str:
    """A message with the labels of the run form and the MCP import in place of options."""
    for option, label in _IMPORT.items():
        text = text.replace(option, label)
    return _OPTION.sub(_label, text)


def _label(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name not in FORM:
        return found[0]
    label = name.replace("-", " ").capitalize()
    return f"“{label}: {value}”" if value else f"“{label}”"

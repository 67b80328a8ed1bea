"""A MkDocs hook that writes `llms.txt`: every page with its description, for readers that are models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_pages: list[Any] = []


def on_nav(nav: Any, config: Any, files: Any) -> None:
    _pages[:] = nav.pages


def on_post_build(config: Any) -> None:
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", "## Pages", ""]
    lines += [
        f"- [{page.title}]({page.canonical_url}): {page.meta.get('description', '')}" for page in _pages
    ]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

"""`tooleval ui`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

_NEEDED = ("starlette", "uvicorn")


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8501, show_default=True, help="0 picks a free port."
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--allow-tools",
    multiple=True,
    metavar="NAME[,NAME...]",
    help="Let runs call these live_tools, as --tooleval-allow-tools does.",
)
def ui(folder: Path, port: int, no_browser: bool, allow_tools: tuple[str, ...]) -> None:
    """Edit and run suites in the browser.

    FOLDER is in the project (default: the current folder). pytest runs the suites, in its root folder.
    The token in the printed address keeps other users of this machine out.
    """
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        raise click.ClickException("the page needs an extra: pip install 'pytest-tooleval[ui]'")
    from ..web.server import serve

    serve(folder, port, browser=not no_browser, allowed_tools=allow_tools, say=click.echo)

"""Imports and configures litellm."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from ...errors import ModelError
from ...secrets import ScrubFilter


@cache
def import_litellm() -> Any:
    """litellm, for questions that need no connection. The first import takes seconds."""
    # Without this, litellm downloads its price list during the import.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        with _no_collections():
            import litellm
    except Exception as error:
        raise ModelError(
            f"litellm cannot be imported ({type(error).__name__}: {error}); "
            "reinstall it: pip install --force-reinstall litellm",
            kind="bad_request",
            fatal=True,
        ) from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    # Dropping parameters silently would make models incomparable.
    litellm.drop_params = False
    litellm.num_retries = 0
    _guard_logs()
    return litellm


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Pause garbage collection during an import; otherwise a run with litellm takes 15% longer."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _guard_logs() -> None:
    """Keep litellm's logs, which contain unescaped texts of providers, off the terminal."""
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("LiteLLM")]:
        logger = logging.getLogger(name)
        for handler in logger.handlers[:]:
            if isinstance(handler, logging.StreamHandler) and not isinstance(
                handler, logging.FileHandler
            ):
                logger.removeHandler(handler)
        # Without any handler, logging would write warnings to stderr.
        logger.addHandler(logging.NullHandler())
        logger.addFilter(ScrubFilter())

"""Imports and configures litellm."""

from __future__ import annotations

import logging
import os
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

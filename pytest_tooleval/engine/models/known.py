"""The names that litellm knows, from its data files, because importing it takes seconds."""

from __future__ import annotations

import functools

from ...text import near
from .prices import data_file, price_list
from .providers import PROVIDERS


def unserved(name: str) -> str | None:
    """Why litellm does not know a provider for this name; None if it does.

    Reads litellm's data files first. Imports litellm, which takes seconds, only for other providers
    and for names with a colon, some of which it knows by pattern (`ft:gpt-4o:me::1`).
    """
    if name in price_list():
        return None
    provider, slash, _ = name.partition("/")
    if slash and (provider == "responses" or provider in known_providers()):
        return None
    if (slash or ":" in name) and _litellm_accepts(name):
        return None
    if slash:
        return f"litellm knows no provider {provider!r}{near(provider, known_providers())}"
    return (
        "No config table defines it, and litellm does not know its provider (write it with the "
        "provider: openai/NAME, anthropic/NAME, ollama_chat/NAME, ...)."
    )


def _litellm_accepts(name: str) -> bool:
    from ..clients.litellm_client import load_litellm

    try:
        load_litellm().get_llm_provider(name)
    except Exception:
        return False
    return True


@functools.cache
def known_providers() -> tuple[str, ...]:
    """The providers of our table, and most of litellm's, from its data files."""
    supported = data_file("provider_endpoints_support_backup.json").get("providers", {})
    listed = (str(entry.get("litellm_provider")) for entry in price_list().values())
    return tuple(dict.fromkeys([*PROVIDERS, *supported, *listed]))

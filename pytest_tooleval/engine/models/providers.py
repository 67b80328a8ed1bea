"""The model providers: their protocols, addresses, keys and limitations.

Each provider is a row of the table. litellm, if it is installed, handles providers without a row or
without a protocol.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...jsonschemas.providers import Rules

# The protocols of our own clients.
Protocol = Literal["openai", "anthropic", "gemini"]
FORCED, FORBIDDEN = "tool_choice required", "tool_choice none"


class Provider(NamedTuple):
    """A provider, whose models are called `name/...`. `also` are litellm's other names for it.

    `keys` are the variables that may hold its key, the usual one first. Without a key, litellm logs in
    if `logs_in` is set, or any variable of `logins`; with `keyless`, none is needed.

    Our client uses the `protocol` for models whose names begin with `prefix`, at the address `base`, or
    the one in a variable of `bases`. It sends the parameters `extra`, or all but litellm's own; others
    select litellm.

    `schemas` pairs a word in model names with the rules for their tools. `ignores` are parameters that
    are silently dropped. `ignores_thinking` pairs a word in model names with a parameter that is
    dropped while they think.
    """

    name: str
    keys: tuple[str, ...] = ()
    protocol: Protocol | None = None
    base: str = ""
    bases: tuple[str, ...] = ()
    prefix: str = ""
    also: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    logs_in: bool = False
    schemas: tuple[tuple[str, Rules], ...] = ()
    extra: frozenset[str] | None = None
    keyless: bool = False
    ignores: tuple[str, ...] = ()
    ignores_thinking: tuple[tuple[str, str], ...] = ()


def _plain(name: str, base: str, *keys: str) -> Provider:
    """A provider with OpenAI's protocol and the usual names of variables."""
    usual = name.upper()
    return Provider(name, keys or (f"{usual}_API_KEY",), "openai", base, (f"{usual}_API_BASE",))


_EXTRA = frozenset({"extra_headers", "extra_body", "stop"})


OPENAI = Provider(
    "openai",
    ("OPENAI_API_KEY",),
    "openai",
    "https://api.openai.com/v1",
    ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    schemas=(("", "OpenAI"),),
)
_ROWS = (
    OPENAI,
    OPENAI._replace(
        name="azure", keys=("AZURE_API_KEY",), base="", bases=("AZURE_API_BASE",), logs_in=True
    ),
    Provider(
        "anthropic",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        logins=("ANTHROPIC_FEDERATION_RULE_ID",),
        schemas=(("", "Anthropic"),),
        extra=_EXTRA | {"top_k", "parallel_tool_calls"},
    ),
    Provider(
        "gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_BASE",),
        prefix="gemini/gemini-",
        schemas=(("", "Gemini"), ("", "Vertex AI")),
        extra=_EXTRA | {"top_k"},
    ),
    _plain("cerebras", "https://api.cerebras.ai/v1"),
    _plain("deepinfra", "https://api.deepinfra.com/v1/openai"),
    _plain("deepseek", "https://api.deepseek.com"),
    _plain(
        "fireworks_ai",
        "https://api.fireworks.ai/inference/v1",
        *("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKS_AI_TOKEN"),
    ),
    _plain("groq", "https://api.groq.com/openai/v1"),
    _plain("mistral", "https://api.mistral.ai/v1"),
    _plain("moonshot", "https://api.moonshot.ai/v1"),
    _plain("nebius", "https://api.studio.nebius.ai/v1"),
    _plain("novita", "https://api.novita.ai/v3/openai"),
    _plain("nvidia_nim", "https://integrate.api.nvidia.com/v1"),
    # Its other parameters are those of its own API, such as `num_ctx`.
    _plain("ollama", "http://localhost:11434")._replace(
        also=("ollama_chat",),
        keyless=True,
        extra=_EXTRA | {"parallel_tool_calls"},
        ignores=(FORCED, FORBIDDEN),
    ),
    _plain("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OR_API_KEY"),
    _plain("sambanova", "https://api.sambanova.ai/v1"),
    _plain("together_ai", "https://api.together.ai/v1", "TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    _plain("xai", "https://api.x.ai/v1")._replace(logins=("XAI_OAUTH_TOKEN_DIR",)),
    _plain("zai", "https://api.z.ai/api/paas/v4"),
    # litellm handles the rest.
    Provider(
        "bedrock",
        also=("bedrock_converse",),
        schemas=(("", "Bedrock"), ("claude", "Anthropic")),
        ignores_thinking=(("anthropic", FORCED),),
    ),
    Provider(
        "vertex_ai",
        also=("vertex_ai_beta",),
        logs_in=True,
        schemas=(("claude", "Anthropic"), ("gemini", "Gemini"), ("gemini", "Vertex AI")),
    ),
    Provider("cohere", ("COHERE_API_KEY", "CO_API_KEY"), also=("cohere_chat",)),
    Provider("meta_llama", ("LLAMA_API_KEY",)),
    Provider("perplexity", ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    Provider("replicate", ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN")),
    *(
        Provider(name, (f"{name.upper()}_API_KEY",))
        for name in "ai21 baseten codestral dashscope minimax".split()
    ),
    *(
        Provider(name, logs_in=True)
        for name in "azure_text chatgpt gdc gigachat github_copilot oci sap watsonx watsonx_text".split()
    ),
)
PROVIDERS = {name: row for row in _ROWS for name in (row.name, *row.also)}
UNKNOWN_PROVIDER = Provider("")

"""The environment variables in which litellm looks for API keys, without importing litellm."""

from __future__ import annotations

import os

from .prices import provider_of
from .spec import ModelSpec

# Providers that need a key. Any of several variables will do; the first is the usual one.
_VARIABLES = {
    provider: (f"{provider.upper()}_API_KEY",)
    for provider in "ai21 baseten cerebras codestral dashscope deepinfra deepseek groq minimax mistral "
    "moonshot nebius novita nvidia_nim openai sambanova zai".split()
} | {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "fireworks_ai": (
        "FIREWORKS_API_KEY",
        "FIREWORKS_AI_API_KEY",
        "FIREWORKSAI_API_KEY",
        "FIREWORKS_AI_TOKEN",
    ),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "meta_llama": ("LLAMA_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "together_ai": (
        "TOGETHERAI_API_KEY",
        "TOGETHER_API_KEY",
        "TOGETHER_AI_API_KEY",
        "TOGETHER_AI_TOKEN",
    ),
    "xai": ("XAI_API_KEY", "XAI_OAUTH_TOKEN_DIR"),
}


def key_variable(spec: ModelSpec) -> str | None:
    """The variable for the key of a model; None when unknown.

    If there are several, it is the first that is set, else the usual one.
    """
    if spec.api_key_env or spec.api_base:
        return spec.api_key_env
    provider = str(spec.extra.get("custom_llm_provider") or provider_of(spec.model))
    names = _VARIABLES.get(provider, (None,))
    return next((name for name in names if name and os.environ.get(name, "").strip()), names[0])

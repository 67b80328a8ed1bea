"""The parts of tool schemas that a model's provider refuses or ignores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ModelError
from ...explain import field_path
from ...jsonschemas.providers import Rules, Trouble, troubles
from ...record.encoding import to_json
from ...text import first_few, printable
from ..exchange.tools import functions_of
from ..models.spec import HttpModel, ModelSpec


class ToolSchemas:
    """Checks the tools in requests to one model."""

    def __init__(self, spec: ModelSpec) -> None:
        self._providers = rules_of(spec)
        # Another host with a provider's protocol may accept what the provider refuses.
        self._refuses = isinstance(spec, HttpModel) and not spec.is_elsewhere
        self._by_schema: dict[bytes, list[Trouble]] = {}

    def changes(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """The schema parts that are hidden from the model, as fallbacks. Raises ModelError if one
        is refused.
        """
        changes = {}
        functions = functions_of(tools) if self._providers else ()
        for function in functions:
            troubles = self._troubles(function)
            refused = next((one for one in troubles if self._providers & {*one.refused}), None)
            if refused is not None and self._refuses:
                raise self._refusal(function["name"], refused)
            hidden = [one for one in troubles if self._providers & {*one.hidden}]
            if hidden:
                fields = [field_path(one.at[1:]) or field_path(one.at) for one in hidden]
                without = f"a schema without {first_few(fields, 5)}"
                changes[f"tools.{printable(function['name'])}"] = without
        return changes

    def _troubles(self, function: Mapping[str, Any]) -> list[Trouble]:
        key = to_json(function)
        if key not in self._by_schema:
            self._by_schema[key] = list(troubles(function))
        return self._by_schema[key]

    def _refusal(self, name: str, refused: Trouble) -> ModelError:
        provider = sorted(self._providers & {*refused.refused})[0]
        path = f"tool {printable(name)}, {field_path(refused.at)}"
        return ModelError(
            f"{provider} refuses {refused.what} ({path}), so it was not asked; `tooleval "
            "validate` shows the line",
            kind="bad_request",
        )


def rules_of(spec: ModelSpec) -> frozenset[Rules]:
    """The providers whose rules apply to a model's tools; empty when unknown."""
    if not isinstance(spec, HttpModel):
        return frozenset()
    rules = {rules for word, rules in spec.provider.schemas if word in spec.model}
    # Our own client sends the parts that litellm leaves out for Vertex AI.
    return frozenset(rules - {"Vertex AI"} if spec.protocol else rules)

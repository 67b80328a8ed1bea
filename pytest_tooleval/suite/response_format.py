"""The form that a model's answers are asked to have, in the terms of OpenAI's chat API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import WithJsonSchema

from .fields import Expects, SuiteObject

EXAMPLE = '{"type": "json_schema", "json_schema": {"schema": {...}}}'
_NAME = "answer"


class JsonForm(SuiteObject):
    """The schema that answers are valid under."""

    EXPECTS = 'an object such as {"schema": {"type": "object", "properties": {...}}}'

    schema_: Annotated[dict[str, Any], Expects("a JSON Schema"), WithJsonSchema({"type": "object"})] = (
        Field(alias="schema", description="The JSON Schema of an answer.")
    )
    name: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9_-]{1,64}$"),
        Expects("a name of letters, digits, _ and -, such as forecast"),
    ] = Field(_NAME, description=f"What OpenAI calls the form; default: {_NAME}.")
    strict: bool | None = Field(
        None, description="Whether OpenAI must keep to the schema; it takes only some schemas then."
    )
    description: str | None = Field(None, description="What the form is for.")


class ResponseFormat(SuiteObject):
    """The form of an answer's text, as the provider is asked for it."""

    EXPECTS = f"an object such as {EXAMPLE}"

    type: Literal["json_schema", "json_object"] = Field(
        description="json_schema: JSON that is valid under a schema; json_object: any JSON object."
    )
    json_schema: JsonForm | None = Field(None, description="With the type json_schema: the schema.")

    @property
    def chat_parameter(self) -> dict[str, Any]:
        """The parameter of the chat API."""
        if self.json_schema is None:
            return {"type": self.type}
        form = self.json_schema
        fields = {
            "name": form.name,
            "description": form.description,
            "schema": form.schema_,
            "strict": form.strict,
        }
        schema = {name: value for name, value in fields.items() if value is not None}
        return {"type": self.type, "json_schema": schema}

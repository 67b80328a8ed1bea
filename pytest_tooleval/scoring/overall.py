"""The seed's weighted score of a call: 0.6 for the tool, 0.4 for its parameters."""

from __future__ import annotations

TOOL_WEIGHT = 0.6
PARAMETER_WEIGHT = 0.4


def overall(tool: float, parameters: float | None) -> float:
    """`0.6 * tool + 0.4 * parameters`; the tool alone when parameters are not scored."""
    if parameters is None:
        return tool
    return TOOL_WEIGHT * tool + PARAMETER_WEIGHT * parameters


def formula(tool: float, parameters: float | None) -> str:
    """How the score came about, as a line."""
    value = overall(tool, parameters)
    if parameters is None:
        return f"{value:.4g} = tool selection (parameters are not scored)"
    return f"{value:.4g} = 0.6 × {tool:.4g} (tool) + 0.4 × {parameters:.4g} (parameters)"

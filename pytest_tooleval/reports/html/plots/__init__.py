"""Plots drawn as SVG. Each function returns an empty text when there is nothing to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..markup import Html
from .data import ModelRows
from .failures import failures_plot
from .histograms import scores_plot
from .histograms import trials_plot
from .latency import latency_plot
from .tradeoff import cost_plot
from .tradeoff import tokens_plot

_MOST_MODELS = 16
_PLOTS = (latency_plot, cost_plot, tokens_plot, trials_plot, scores_plot, failures_plot)


def plots(document: Mapping[str, Any]) -> list[Html]:
    """All plots of a run that have something to show, for its first models."""
    models = [
        ModelRows(
            i, row["model"], row, [case for case in document["cases"] if case["model"] == row["model"]]
        )
        for i, row in enumerate(document["models"][:_MOST_MODELS])
    ]
    return [drawn for plot in _PLOTS if (drawn := plot(models))]

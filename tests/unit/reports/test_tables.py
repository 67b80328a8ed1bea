"""The table of scores: which columns it has, and how their names fit."""

from __future__ import annotations

from msgspec import structs

from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.record.summary import Mean
from pytest_tooleval.reports.tables import score_table

from .samples import document
from .samples import row


def with_metrics(**means: float) -> RowsDocument:
    sample = document(row())
    metrics = {name: Mean(mean, n=1) for name, mean in means.items()}
    suites = tuple(structs.replace(row, metrics=metrics) for row in sample.suites)
    return structs.replace(sample, suites=suites)


def titles(found: RowsDocument) -> list[str]:
    head, lines = score_table(found)
    assert lines
    return [word for line in head for word in line.split()]


def test_a_metric_has_its_own_name_over_two_lines() -> None:
    head, lines = score_table(with_metrics(overall=0.75, parameter_accuracy=0.5, state=0.25))
    above, below = head
    assert above.split() == ["parameter_"]
    end = above.index("parameter_") + len("parameter_")
    assert below[:end].endswith(" accuracy")
    assert [line[:end].split()[-1] for line in lines] == ["0.50"] * len(lines)
    assert below[end:].split()[0] == "state"


def test_built_in_metrics_are_left_out_where_they_are_perfect() -> None:
    found = with_metrics(
        overall=1.0, detour_penalty=0.0, redundancy_penalty=0.1, no_extra_calls=0.999, politeness=1.0
    )
    named = titles(found)
    assert "overall" not in named
    assert "detour_" not in named
    assert [word for word in named if word in ("redundancy_", "no_extra_")] == [
        "no_extra_",
        "redundancy_",
    ]
    assert "politeness" in named

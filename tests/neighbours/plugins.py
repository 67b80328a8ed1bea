"""The plugins beside which runs are tried, each with the options that set it to work."""

from __future__ import annotations

from importlib.metadata import EntryPoint, PackageNotFoundError, distribution

NEIGHBOURS = {
    "allure-pytest": "--alluredir=allure",
    "anyio": "",
    "pytest-asyncio": "--asyncio-mode=auto",
    "pytest-bdd": "",
    "pytest-benchmark": "",
    "pytest-check": "",
    "pytest-clarity": "",
    "pytest-cov": "--cov=.",
    "pytest-dependency": "",
    "pytest-dotenv": "",
    "pytest-durations": "",
    "pytest-env": "",
    "pytest-evals": "--run-eval",
    "pytest-flakefinder": "--flake-finder --flake-runs=2",
    "pytest-github-actions-annotate-failures": "",
    "pytest-html": "--html=out.html",
    "pytest-icdiff": "",
    "pytest-instafail": "--instafail",
    "pytest-json-report": "--json-report",
    "pytest-md-report": "--md-report",
    "pytest-mock": "",
    "pytest-order": "",
    "pytest-picked": "",
    "pytest-pretty": "",
    "pytest-random-order": "--random-order",
    "pytest-randomly": "",
    "pytest-repeat": "--count=2",
    "pytest-reportlog": "--report-log=log.jsonl",
    "pytest-rerunfailures": "--reruns=1",
    "pytest-retry": "--retries=1",
    "pytest-reverse": "--reverse",
    "pytest-rich": "--rich",
    "pytest-socket": "--disable-socket --allow-unix-socket",
    "pytest-split": "--splits=1 --group=1",
    "pytest-subtests": "",
    "pytest-sugar": "--force-sugar",
    "pytest-testmon": "--testmon",
    "pytest-timeout": "--timeout=120",
    "pytest-trio": "-otrio_mode=true",
    "syrupy": "",
    "teamcity-messages": "--teamcity",
}
# What a plugin needs to be there, too.
_ALSO = {"pytest-evals": ("pytest-harvest", "pytest-xdist"), "pytest-html": ("pytest-metadata",)}


def loaded(*names: str) -> list[str]:
    """The options that load these plugins and what they need; LookupError if one is not installed."""
    return [
        f"-p{entry.name}"
        for name in names
        for each in (*_ALSO.get(name, ()), name)
        for entry in _entries(each)
    ]


def _entries(name: str) -> set[EntryPoint]:
    try:
        return set(distribution(name).entry_points.select(group="pytest11"))
    except PackageNotFoundError:
        raise LookupError(name) from None

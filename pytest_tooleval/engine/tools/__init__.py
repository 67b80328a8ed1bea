"""The tools of a trial: those offered, who answers a call, and sources: mocks, worlds, live servers."""

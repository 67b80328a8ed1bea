"""The HTML report: one file that shows a run, and needs nothing but a browser."""

from .page import html_text
from .page import write_html

__all__ = ["html_text", "write_html"]

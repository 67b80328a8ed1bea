"""Comparison of a model's values with those that a case expects.

The imported modules define the matchers, in the order of the docs.
"""

from . import combined as combined
from . import contents as contents
from . import dates as dates
from . import numbers as numbers
from . import shapes as shapes

"""How a value from a model compares with the one that a case expects.

The imported modules hold the matchers, which stand in the docs in this order.
"""

from . import combined as combined
from . import contents as contents
from . import dates as dates
from . import numbers as numbers
from . import shapes as shapes

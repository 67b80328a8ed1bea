"""Would a suite notice a wrong answer? Right answers broken as models break them, and scored."""

"""How much may be asked: slots, pace, retries, money."""

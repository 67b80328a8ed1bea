"""Would a suite notice a wrong answer? Break right answers as models do, and score them."""

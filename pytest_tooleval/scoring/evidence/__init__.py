"""Whether a case judged by state would notice an agent that does nothing, or half the work."""

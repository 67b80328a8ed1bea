"""Stand-ins for the providers' APIs, as strict as the real ones, and what the engine makes of them."""

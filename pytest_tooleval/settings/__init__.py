"""What the user has set: the options, and the settings made of them."""

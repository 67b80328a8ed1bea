"""Files that several processes append to and lock."""

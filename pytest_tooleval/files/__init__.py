"""Files that several processes append to and lock, and folders that git ignores."""

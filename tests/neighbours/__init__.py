"""Beside other plugins, by the plugins themselves: `tox -e neighbours` installs all of them."""

"""Reports, all made from the result document."""

"""The folder `examples/`, run as its README says."""

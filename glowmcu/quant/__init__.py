"""A float graph and samples become an int8 graph: profile, calibrate, convert (see README.md)."""

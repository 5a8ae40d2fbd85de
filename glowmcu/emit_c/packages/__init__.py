"""Files that make a bundle a package of a build system: one module a system, found by name."""

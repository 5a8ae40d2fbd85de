"""Models behind each other at rates of their own, as one bundle. Read `compilation` first."""

"""A model that learns: the part of its graph that does, in float32, and a step of descent."""

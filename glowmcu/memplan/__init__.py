"""Memory planning on the instruction IR: order, aliases, in-place, offsets, and the proof
beside.
"""

"""The same in fixed point: gradients by what is stored in int8."""

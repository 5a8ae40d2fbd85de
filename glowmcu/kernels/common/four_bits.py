"""What is said of layers with weights of four bits (`glowmcu.ir.layer_weights.are_nibbles`)."""

#: What the comment of a layer says where its kernel stores them so.
FOUR_BITS_NOTES = ("weights of four bits, two in a byte",)

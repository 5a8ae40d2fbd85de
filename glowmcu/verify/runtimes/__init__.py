"""Other people's interpreters of `.tflite` files, each in a process of its own."""

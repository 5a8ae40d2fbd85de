"""ONNX models: container, importers by family, reader. Needs the `onnx` package, an extra."""

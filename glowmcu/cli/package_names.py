"""What `--emit` takes, without importing what writes these files."""

BUILD_SYSTEMS = (
    "arduino", "cmake", "cmsis-pack", "csolution", "esp-idf", "make", "platformio", "renode",
    "rust", "serial", "zephyr",
)  # fmt: skip

# Every target does its own set-up (scripts/setup.sh); without make, call the scripts directly.
.PHONY: demo test test-quick test-long golden clean

demo:
	@scripts/demo

test:
	@scripts/test

test-quick:
	@scripts/test --quick

test-long:
	@scripts/setup.sh test
	@.venv/bin/python -m benchmarks.long_tests

golden:
	@scripts/test --update-golden

clean:
	rm -rf build dist .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

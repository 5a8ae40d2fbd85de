"""`python -m glowmcu.ci`: the job that watches a model in the repository of its user. docs/ci.md"""

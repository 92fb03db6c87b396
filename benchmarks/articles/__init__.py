"""What articles and popular advice claim, each with a measurement that can be run again.

    python -m benchmarks.articles            everything, about ten minutes on two cores
    python -m benchmarks.articles 001-2      one claim, or all whose id begins so
    python -m benchmarks.articles --missing  what has no result yet, or a disturbed one
    python -m benchmarks.articles --list

`docs/articles.md` shows the claims with the results of `benchmarks/results/articles.json`.
"""

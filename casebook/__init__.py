"""The casebook: slow training scripts with known causes, and the runner that judges fitdoctor.

`python -m casebook` diagnoses each `slow.py` with fitdoctor, measures what `fixed.py` really
gains, and says for each case whether the verdict was right.
"""

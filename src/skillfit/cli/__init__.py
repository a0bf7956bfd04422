"""Entry points: the only place, with `train.py` and `evaluate.py`, that knows Hydra."""

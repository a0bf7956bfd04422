"""Fitting models: Lightning modules that only wire, and the fitters that a training job names."""

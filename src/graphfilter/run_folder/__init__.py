"""The folder a ``fit`` leaves behind: a model, predictions, metrics and a report."""

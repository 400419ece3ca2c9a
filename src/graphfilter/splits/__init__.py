"""Which vertices are trained, validated and tested on: Split, and the rules that draw one."""

from graphfilter.splits.rules import Split, fraction, per_class, stratified

__all__ = ["Split", "fraction", "per_class", "stratified"]

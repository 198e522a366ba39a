"""Single operations at several sizes, compiled and warm, from each side's StableHLO."""

"""Single operations at three sizes, compiled and warm: what XLA makes of each side's StableHLO."""

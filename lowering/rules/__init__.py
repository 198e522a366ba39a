"""How each op becomes StableHLO: one file per family, imported when the family is first lowered."""

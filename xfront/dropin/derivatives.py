"""Names about derivatives that libraries import from private modules of JAX."""


class CustomVJPException(Exception):
    """The error that JAX raises where forward mode meets a `custom_vjp` function.

    Nothing raises it here: forward mode differentiates the rule.
    """


__all__ = ["CustomVJPException"]

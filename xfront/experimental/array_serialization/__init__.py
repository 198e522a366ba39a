"""Writes arrays of many devices to files and reads them, by TensorStore."""

from ...base.on_demand import on_demand

__all__, __getattr__, __dir__ = on_demand(
    __name__, {}, submodules=("serialization", "tensorstore_impl"))

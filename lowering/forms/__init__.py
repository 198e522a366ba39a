"""Forms: what a platform gets for an op in place of its plain rule, as other ops of the IR.

Here is what platforms share: what a form is and when it is taken (`registry.py`, `conditions.py`),
the walk that puts forms into programs (`placing.py`) and what it knows of a place (`places.py`,
`facts.py`, `emitted.py`), which programs get any (`extras.py`), what people are told
(`inspection.py`), parts that forms of several platforms are written with (`matrices.py`), refusals.
The forms stand in `lowering/cpu`, `lowering/gpu` and `lowering/tpu`, under the file names of the
rules.
"""

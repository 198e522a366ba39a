"""Forms: what a platform gets for an op in place of its plain rule, as other ops of the IR.

This folder holds the parts that all platforms share: what a form is and when it is taken
(`registry.py`, `conditions.py`), the walk that puts forms into programs (`placing.py`), what a form
may know of the place of its op (`places.py`, `facts.py`, `emitted.py`), which programs get forms
(`extras.py`), the description of forms for people (`inspection.py`), building blocks for the forms
of several platforms (`matrices.py`), and forms that refuse an op (`refusals.py`). The forms
themselves are in `lowering/cpu`, `lowering/gpu` and `lowering/tpu`, under the file names of the
rules.
"""

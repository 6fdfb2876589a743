"""Builds the extension ``gramlock._native``; everything else is in pyproject.toml.

The wheel is tagged for the stable ABI of CPython 3.10, so one wheel a platform serves every later
version.
"""

from setuptools import setup

setup(
    cffi_modules=["csrc/binding.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)

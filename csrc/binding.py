"""The Python binding of the C core: what setup.py compiles into ``gramlock._native``.

``gramlock.h`` is the only source of the declarations: it holds plain C declarations, so dropping
the preprocessor's lines leaves what cffi reads. All C files beside it are compiled into the
extension; nothing is exported but the module's entry point.

Environment: ``GRAMLOCK_DEBUG=1`` keeps assertions and debug information and optimises little.
"""

import os
import sys
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent


def declarations(header: str) -> str:
    """The header's text without its preprocessor lines."""
    return "\n".join(line for line in header.splitlines() if not line.startswith("#"))


def compile_arguments(debug: bool) -> list[str]:
    """Flags for the C compiler; portable ones, since SIMD is chosen at run time."""
    arguments = ["-std=c11", "-fvisibility=hidden", "-D_POSIX_C_SOURCE=200809L"]
    return [*arguments, *(["-O1", "-g", "-UNDEBUG"] if debug else ["-O3", "-DNDEBUG"])]


def link_arguments() -> list[str]:
    return [] if sys.platform == "darwin" else ["-pthread"]


ffi = FFI()
ffi.cdef(declarations((HERE / "gramlock.h").read_text(encoding="utf-8")))
ffi.set_source(
    "gramlock._native",
    '#include "gramlock.h"',
    # Relative to setup.py, which is where setuptools wants them.
    sources=sorted(f"csrc/{path.name}" for path in HERE.glob("*.c")),
    depends=sorted(f"csrc/{path.name}" for path in HERE.glob("*.h")),
    include_dirs=["csrc"],
    extra_compile_args=compile_arguments(os.environ.get("GRAMLOCK_DEBUG", "0") == "1"),
    extra_link_args=link_arguments(),
)

"""The project's own conventions: who may include or import whom, sizes, headers, live names.

The levels are declared here, once; docs/architecture.md explains them. A C file may include, and
a Python part may import, only what stands before it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gramlock

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "python" / "gramlock"

C_LEVELS = [
    ["gramlock", "common", "text", "arena", "vec", "hash", "bitmask"],
    ["groups"],
    ["trie", "vocab", "document"],
    ["expr", "derive", "texts", "free_groups", "strip", "charset", "apart"],
    [
        "formula",
        "feasible",
        "terminal",
        "reach",
        "counted",
        "span",
        "grammar",
        "describe",
        "serial",
        "code",
    ],
    ["plain", "plain_leaf", "plain_shape"],
    ["scanner", "value"],
    ["rewrite.h", "passes", "lower", "productive", "nonempty", "leftcorner", "emit", "rewrite"],
    ["object", "epoch", "member", "parser", "alive", "moves"],
    ["correct", "mask"],
    ["program", "matcher", "batch", "draft", "logits"],
    ["api"],
]
C_ORDER = [stage for level in C_LEVELS for stage in level]
PASSES = C_LEVELS[7]  # they share the header passes.h

# A part is a module or a subpackage; its modules may import each other.
PYTHON_ORDER = [
    "errors",
    "limits",
    "_formula",
    "_core",
    "_matching",
    "_serial",
    "syntax",
    "schema",
    "sampling",
    "tokenizers",
    "types",
    "grammar",
    "matcher",
    "bitmask",
    "compiler",
    "vocabulary",
    "integrations",
    "tools",
    "conformance",
    "demo",
    "cli",
    "__init__",
]
FRONT_ENDS = {"syntax", "schema"}
FRONT_END_IMPORTS = {"errors", "limits", "_core", "syntax", "schema"}
OPTIONAL = set(
    "anyio gguf httpx jiter jsonschema mcp opentelemetry psycopg regress rich sentencepiece "
    "sqlalchemy starlette tiktoken tokenizers uvicorn".split()
)
OPTIONAL |= {"torch", "transformers", "typer"}

MAX_FILE = 800
MAX_FUNCTION = 80
LONG_FUNCTIONS: set[str] = set()

MARKS = re.compile(
    "|".join(["TO" + "DO", "FIX" + "ME", r"\bX" + r"XX\b", "NotImpl" + "ementedError"])
)
NAMES = re.compile("_im" + r"pl\b|\but" + r"ils\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')

c_files = sorted(CSRC.glob("*.[ch]"))
c_tests = sorted((ROOT / "tests" / "c").glob("*.[ch]"))
modules = sorted(PACKAGE.rglob("*.py"))
python_files = sorted(
    [
        *modules,
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "benchmarks").rglob("*.py"),
        *(ROOT / "examples").rglob("*.py"),
        ROOT / "setup.py",
    ]
)
sources = [*c_files, *c_tests, *python_files]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blank(match: re.Match[str]) -> str:
    """As many line ends as the match had, and nothing else."""
    return " " + "\n" * match.group().count("\n")


def c_code(text: str) -> str:
    """C text with comments and literals blanked out, line numbers kept."""
    return COMMENT.sub(blank, STRING.sub(lambda match: '""', COMMENT.sub(blank, text)))


def c_functions(text: str) -> Iterator[tuple[str, int]]:
    """Name and length of each function body at the top level of a C file."""
    depth, start, opening = 0, 0, ""
    lines = c_code(text).splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#"):
            continue
        if depth == 0 and "{" in line:
            window = " ".join(lines[max(0, number - 5) : number + 1])
            head = re.split(r"[;}]", window[: window.rindex("{")])[-1] + "{"
            found = re.search(r"(\w+)\s*\([^{}]*\{", head)
            start, opening = number, found.group(1) if found and ")" in line else ""
        depth += line.count("{") - line.count("}")
        if depth == 0 and "}" in line and opening:
            yield opening, number - start + 1
            opening = ""


def python_functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Name and length of each function, its docstring not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield node.name, (node.end_lineno or 0) - body[0].lineno + 1


def part(path: Path) -> str:
    """Which entry of PYTHON_ORDER a module belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def typing_only(tree: ast.Module) -> set[int]:
    """Ids of the nodes under ``if TYPE_CHECKING``."""
    blocks = [
        n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)
    ]
    return {
        id(inner) for block in blocks for statement in block.body for inner in ast.walk(statement)
    }


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Absolute names imported at run time, and whether at the top of the module."""
    tree = ast.parse(read(path))
    ignored, top = typing_only(tree), {id(node) for node in tree.body}
    package = ["gramlock", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{origin}.{alias.name}", id(node) in top


def imported_parts(path: Path) -> set[str]:
    """Parts of the package that a module imports."""
    found = set()
    for full, _ in imports(path):
        pieces = full.split(".")
        if pieces[0] == "gramlock":
            inner = pieces[1] if len(pieces) > 1 else "__init__"
            found.add(inner if inner in PYTHON_ORDER or inner == "_native" else "__init__")
    return found - {part(path)}


def c_rank(file: str) -> int:
    """Place in C_ORDER, where a file may be listed apart from the rest of its stage."""
    return C_ORDER.index(file if file in C_ORDER else file.partition(".")[0])


@pytest.mark.parametrize("path", c_files, ids=name)
def test_c_files_include_only_what_stands_before_them(path: Path) -> None:
    for included in re.findall(r'#include "(\w+\.h)"', read(path)):
        assert c_rank(included) <= c_rank(path.name), f"{name(path)} includes {included}"


@pytest.mark.parametrize("path", [*c_files, *c_tests], ids=name)
def test_c_files_open_with_their_idea(path: Path) -> None:
    assert read(path).startswith(f"/* {path.name} -- "), "opens with: /* NAME -- what it is"


@pytest.mark.parametrize("path", c_files, ids=name)
def test_only_the_arena_allocates(path: Path) -> None:
    calls = re.findall(r"\b(?:malloc|calloc|realloc|free|strdup)\s*\(", c_code(read(path)))
    assert path.name == "arena.c" or not calls


@pytest.mark.parametrize("path", modules, ids=name)
def test_python_parts_import_only_what_stands_before_them(path: Path) -> None:
    wanted = imported_parts(path)
    if path.parent != PACKAGE or path.name not in (
        "_core.py",
        "_formula.py",
        "_matching.py",
        "_serial.py",
    ):
        assert "_native" not in wanted, (
            "only _core, _formula, _matching and _serial speak to the extension"
        )
    if part(path) in FRONT_ENDS:
        assert wanted <= FRONT_END_IMPORTS
    rank = PYTHON_ORDER.index(part(path))
    late = {other for other in wanted - {"_native"} if PYTHON_ORDER.index(other) > rank}
    assert not late, f"{name(path)} imports {sorted(late)}"


@pytest.mark.parametrize("path", modules, ids=name)
def test_optional_packages_are_imported_on_use(path: Path) -> None:
    if part(path) == "cli" and path.name != "__init__.py":
        return
    at_top = {full.split(".")[0] for full, top in imports(path) if top}
    assert not at_top & OPTIONAL


@pytest.mark.parametrize("path", sources, ids=name)
def test_files_and_functions_are_small(path: Path) -> None:
    text = read(path)
    assert len(text.splitlines()) <= MAX_FILE
    found = c_functions(text) if path.suffix in {".c", ".h"} else python_functions(ast.parse(text))
    long = {function: size for function, size in found if size > MAX_FUNCTION}
    assert not set(long) - LONG_FUNCTIONS, long


@pytest.mark.parametrize("path", python_files, ids=name)
def test_python_files_open_with_their_idea(path: Path) -> None:
    text = read(path)
    assert not text.strip() or ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", sources, ids=name)
def test_no_open_marks(path: Path) -> None:
    text = read(path)
    assert not MARKS.findall(text)
    assert not NAMES.findall(text)
    assert not NAMES.search(path.stem)


@pytest.mark.parametrize("path", c_files, ids=name)
def test_names_in_comments_exist(path: Path) -> None:
    known = {file.name for file in sources}
    comments = " ".join(COMMENT.findall(read(path)))
    for mentioned in re.findall(r"\b([a-z]\w*\.(?:c|h|py))\b", comments):
        assert mentioned in known, f"{name(path)} speaks of {mentioned}"
    for tested in re.findall(r"Tested by (\S+\.(?:c|py))", comments):
        there = (ROOT / tested, ROOT / "tests" / tested)
        assert any(place.is_file() for place in there), f"{name(path)}: {tested} does not exist"


@pytest.mark.parametrize("stage", sorted({path.stem for path in CSRC.glob("*.c")} - {"api"}))
def test_every_stage_names_its_test(stage: str) -> None:
    first = COMMENT.match(read(CSRC / f"{stage}.c"))
    assert first
    headers = re.findall(r"\b([a-z]\w*\.h)\b", first.group())  # "see expr.h"
    places = [CSRC / file for file in (f"{stage}.c", f"{stage}.h", *headers)]
    places += [CSRC / "passes.h"] if stage in PASSES else []
    assert any("Tested by " in read(path) for path in places if path.is_file())


@pytest.mark.parametrize("public", gramlock.__all__)
def test_public_names_are_documented(public: str) -> None:
    value = getattr(gramlock, public)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return
    assert value.__doc__, public
    for method, function in vars(value).items() if inspect.isclass(value) else ():
        function = getattr(function, "__func__", getattr(function, "fget", function))
        if inspect.isfunction(function) and not method.startswith("_"):
            assert inspect.getdoc(getattr(value, method)), f"{public}.{method}"


def test_the_function_scanners_see_what_they_should() -> None:
    text = "int a(void) { return 1; }\n\nstatic int\n"
    text += "b(int x,\n  int y) {\n  // }\n  char c = '{';\n}\n"
    assert list(c_functions(text)) == [("a", 1), ("b", 4)]
    assert list(c_functions("struct s {\n int x;\n};\nenum { A, B };\n")) == []
    assert list(
        python_functions(ast.parse('def f():\n    """Doc."""\n    x = 1\n    return x\n'))
    ) == [("f", 2)]

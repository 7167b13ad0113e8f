"""What `make build` made fits into Lambda and runs there. Skipped where nothing was built."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from architecture.project import ROOT, Project, hold

BUILT: Final = ROOT / ".aws-sam" / "build"
MOST_BYTES: Final = 200 * 1000 * 1000
"""Lambda takes 250 MiB unpacked; the rest is margin."""
VERSION: Final = "313"
AARCH64: Final = (183).to_bytes(2, "little")
MACHINE: Final = slice(18, 20)
"""Where an ELF file names its processor, `e_machine`."""

Folders = Mapping[str, Sequence[Path]]


def too_big(functions: Folders) -> Iterator[str]:
    for name, folders in functions.items():
        size = sum(map(_bytes, folders))
        if size >= MOST_BYTES:
            yield f"{name}: code and layers are {size / 1e6:.0f} MB, over {MOST_BYTES / 1e6:.0f}"


def foreign_binaries(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*.so*") if path.is_file()):
            with path.open("rb") as file:
                head = file.read(MACHINE.stop)
            if head[MACHINE] != AARCH64:
                yield f"{path.relative_to(folder.parent)}: is not for arm64"
            if ".cpython-" in path.name and f".cpython-{VERSION}-" not in path.name:
                yield f"{path.relative_to(folder.parent)}: is not for Python 3.13"


def twice(functions: Folders) -> Iterator[str]:
    """A package in two layers of a function: which one wins is chance."""
    for name, folders in functions.items():
        seen: dict[str, Path] = {}
        for folder in folders:
            for package in _packages(folder):
                if package in seen:
                    yield f"{name}: {package} is in {seen[package].name} and in {folder.name}"
                seen[package] = folder


def uncompiled(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            compiled = path.parent / "__pycache__" / f"{path.stem}.cpython-{VERSION}.pyc"
            if not compiled.is_file():
                yield f"{path.relative_to(folder.parent)}: is not compiled for Python 3.13"


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _packages(folder: Path) -> list[str]:
    top = folder / "python" if (folder / "python").is_dir() else folder
    return sorted(path.name for path in top.iterdir() if not path.name.startswith("__"))


def _folders(project: Project) -> dict[str, list[Path]]:
    return {
        name: [BUILT / name, *(BUILT / layer["Ref"] for layer in properties["Layers"])]
        for name, properties in project.functions.items()
    }


@pytest.fixture
def functions(project: Project) -> Folders:
    folders = _folders(project)
    if not all(path.is_dir() for paths in folders.values() for path in paths):
        pytest.skip("nothing is built; run make build")
    return folders


def _made(root: Path, name: str, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_bytes(content)
    return root / name


def test_code_and_layers_fit_into_lambda(functions: Folders) -> None:
    hold(too_big(functions))


def test_binaries_are_for_the_runtime(functions: Folders) -> None:
    hold(foreign_binaries(_each(functions)))


def test_no_package_is_there_twice(functions: Folders) -> None:
    hold(twice(functions))


def test_code_and_layers_are_compiled(functions: Folders) -> None:
    hold(uncompiled(_each(functions)))


def test_the_code_is_whole(functions: Folders) -> None:
    data = [path for path in (ROOT / "functions").rglob("*") if path.suffix in {".md", ".json"}]
    for path in data:
        inside = path.relative_to(ROOT / "functions")
        missing = [name for name, (code, *_) in functions.items() if not (code / inside).is_file()]
        assert not missing, f"{inside}: is not in {', '.join(missing)}"


def test_a_function_that_is_too_big_is_named(tmp_path: Path) -> None:
    layer = _made(tmp_path, "BigLayer", {"python/data": b""})
    with (layer / "python/data").open("wb") as file:
        file.truncate(MOST_BYTES)  # sparse: takes no room
    assert list(too_big({"AFunction": [layer]})) == [
        "AFunction: code and layers are 200 MB, over 200"
    ]


def test_a_binary_for_another_machine_is_named(tmp_path: Path) -> None:
    x86 = b"\x7fELF" + b"\0" * 14 + (62).to_bytes(2, "little")
    arm = b"\x7fELF" + b"\0" * 14 + AARCH64
    files = {"a.cpython-313-x86_64-linux-gnu.so": x86, "b.cpython-311-aarch64-linux-gnu.so": arm}
    layer = _made(tmp_path, "RuntimeLayer", files | {"c.abi3.so": arm})
    assert list(foreign_binaries([layer])) == [
        "RuntimeLayer/a.cpython-313-x86_64-linux-gnu.so: is not for arm64",
        "RuntimeLayer/b.cpython-311-aarch64-linux-gnu.so: is not for Python 3.13",
    ]


def test_a_second_pydantic_core_is_named(tmp_path: Path) -> None:
    one = _made(tmp_path, "RuntimeLayer", {"python/pydantic_core/__init__.py": b""})
    two = _made(tmp_path, "BedrockLayer", {"python/pydantic_core/__init__.py": b""})
    assert list(twice({"AFunction": [one, two]})) == [
        "AFunction: pydantic_core is in RuntimeLayer and in BedrockLayer"
    ]


def test_code_that_is_not_compiled_is_named(tmp_path: Path) -> None:
    code = _made(tmp_path, "AFunction", {"steps/a.py": b"", "steps/b.py": b""})
    _made(tmp_path, "AFunction", {"steps/__pycache__/b.cpython-313.pyc": b""})
    assert list(uncompiled([code])) == ["AFunction/steps/a.py: is not compiled for Python 3.13"]


def _each(functions: Folders) -> list[Path]:
    return sorted({folder for folders in functions.values() for folder in folders})

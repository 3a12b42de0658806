"""Makes the wheels: the pure one, and beside it one for this platform that has the compiled modules in it.

Ours, without an original; `bin/kafka-compile.py --wheel` is its command. mypy and black are shipped in such
wheels. The sources are in both: they are what is read, and what runs under KAFKA_PY_COMPILED=0.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

from kafka_py.tools.compiled_source import CompileError
from kafka_py.utils.compiled import MANIFEST, Manifest, packaged_dir

_BUILD = "import sys; from setuptools import build_meta; build_meta.{hook}(sys.argv[1])"


def platform_tag() -> str:
    """`cp311-cp311-linux_x86_64`: mypyc's modules fit one minor version of CPython on one platform."""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{version}-{version}{sys.abiflags}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def build_distributions(root: Path, target: Path) -> tuple[Path, Path]:
    """The sdist and the pure wheel of the clone at `root`, as files in `target`.

    The wheel is made from the sdist's content, so what the sdist lacks the wheel lacks, and nothing that an earlier
    build has left in the clone gets into it.
    """
    with tempfile.TemporaryDirectory(prefix="kafka_py-") as name:
        made = Path(name)
        _call("build_sdist", root, made)
        (sdist,) = made.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(made, filter="data")
        _call("build_wheel", made / sdist.name.removesuffix(".tar.gz"), made)
        (wheel,) = made.glob("*.whl")
        target.mkdir(parents=True, exist_ok=True)
        return _move(sdist, target), _move(wheel, target)


def _call(hook: str, folder: Path, target: Path) -> None:
    command = [sys.executable, "-c", _BUILD.format(hook=hook), str(target)]
    # nothing of the outside may stand for what is built
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"{hook} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}".rstrip())


def _move(file: Path, folder: Path) -> Path:
    target = folder / file.name
    target.write_bytes(file.read_bytes())
    return target


def add_modules(pure: Path, compiled: Path, tag: str) -> Path:
    """A wheel beside the pure one, with the compiled modules of a folder that Manifest describes.

    Raises CompileError if they were made from other sources than those in the wheel.
    """
    manifest = Manifest.read(compiled)
    if manifest is None:
        raise CompileError(f"Nothing is compiled in {compiled}")
    folder = packaged_dir(Path()).as_posix()
    with zipfile.ZipFile(pure) as wheel:
        changed = manifest.changed(_sources_in(wheel))
        if changed:
            raise CompileError(f"The compiled modules were made from other sources than {pure.name}: {changed[:3]}")
        made = pure.with_name(f"{pure.name.removesuffix('-py3-none-any.whl')}-{tag}.whl")
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
            record = _Record(out)
            for info in wheel.infolist():
                if info.filename.endswith(".dist-info/RECORD"):
                    record.name = info.filename
                elif info.filename.endswith(".dist-info/WHEEL"):
                    record.add(info, _wheel_metadata(wheel.read(info), tag))
                else:
                    record.add(info, wheel.read(info))
            for file in (MANIFEST, *manifest.modules.values()):
                record.add(
                    zipfile.ZipInfo(f"{folder}/{file}", wheel.infolist()[0].date_time), (compiled / file).read_bytes()
                )
            record.write()
    return made


def _sources_in(wheel: zipfile.ZipFile) -> dict[str, str]:
    names = [name for name in wheel.namelist() if name.startswith("kafka_py/") and name.endswith(".py")]
    return {name: hashlib.sha256(wheel.read(name)).hexdigest() for name in names}


def _wheel_metadata(text: bytes, tag: str) -> bytes:
    lines = [
        line for line in text.decode().splitlines() if line and line.split(":")[0] not in ("Tag", "Root-Is-Purelib")
    ]
    return "\n".join([*lines, "Root-Is-Purelib: false", f"Tag: {tag}", ""]).encode()


class _Record:
    """Writes files into a wheel and in the end the list of them, with digests, that installers check."""

    def __init__(self, out: zipfile.ZipFile) -> None:
        self._out = out
        self._rows: list[tuple[str, str, str]] = []
        self.name = ""

    def add(self, info: zipfile.ZipInfo, content: bytes) -> None:
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = info.external_attr or 0o644 << 16
        self._out.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._rows.append((info.filename, f"sha256={digest}", str(len(content))))

    def write(self) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*self._rows, (self.name, "", "")])
        self._out.writestr(self.name, text.getvalue())

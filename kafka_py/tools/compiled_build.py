"""Compiles the broker's request path with mypyc: extension modules that do what the sources say, in half the time.

Ours, without an original; bin/kafka-compile.py is its command, kafka_py/utils/compiled.py uses what it makes.

What mypyc gets is a copy that compiled_source.py has prepared; it must pass mypy as the sources do.
"""

from __future__ import annotations

import argparse
import configparser
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kafka_py.common.utils.time import Time
from kafka_py.tools.compiled_source import CompileError, prepare
from kafka_py.tools.compiled_wheel import add_modules, build_distributions, platform_tag
from kafka_py.utils.compiled import Manifest, compiled_dir, sources_of
from kafka_py.utils.free_threading import FREE_THREADED

ROOT = Path(__file__).resolve().parents[2]

# What a small produce request runs through, and the base classes of that; the rest gains too little.
MODULES = (
    "kafka_py.cluster.delayed_operations",
    "kafka_py.cluster.partition",
    "kafka_py.cluster.replica",
    "kafka_py.common.internals.topic",
    "kafka_py.common.long_ref",
    "kafka_py.common.network.idle_expiry_manager",
    "kafka_py.common.network.kafka_channel",
    "kafka_py.common.network.network_receive",
    "kafka_py.common.network.network_send",
    "kafka_py.common.network.nio_selector",
    "kafka_py.common.network.plaintext_transport_layer",
    "kafka_py.common.network.receive",
    "kafka_py.common.network.selectable",
    "kafka_py.common.network.selector",
    "kafka_py.common.network.selector_metrics",
    "kafka_py.common.network.send",
    "kafka_py.common.network.transport_layer",
    "kafka_py.common.protocol.api_keys",
    "kafka_py.common.record.abstract_record_batch",
    "kafka_py.common.record.abstract_records",
    "kafka_py.common.record.default_record_batch",
    "kafka_py.common.record.file_channel",
    "kafka_py.common.record.file_records",
    "kafka_py.common.record.memory_records",
    "kafka_py.common.record.memory_records_builder",
    "kafka_py.common.record.mutable_record_batch",
    "kafka_py.common.record.record_batch",
    "kafka_py.common.record.record_walker",
    "kafka_py.common.record.records",
    "kafka_py.common.requests.abstract_request",
    "kafka_py.common.requests.abstract_request_response",
    "kafka_py.common.requests.abstract_response",
    "kafka_py.common.requests.fetch_metadata",
    "kafka_py.common.requests.fetch_request",
    "kafka_py.common.requests.fetch_response",
    "kafka_py.common.requests.produce_request",
    "kafka_py.common.requests.produce_response",
    "kafka_py.common.requests.request_context",
    "kafka_py.common.requests.request_header",
    "kafka_py.common.utils.byte_utils",
    "kafka_py.coordinator.coordinator_partition",
    "kafka_py.coordinator.group.delayed_heartbeat",
    "kafka_py.coordinator.group.group_coordinator",
    "kafka_py.coordinator.group.group_metadata",
    "kafka_py.coordinator.group.group_metadata_manager",
    "kafka_py.coordinator.group.group_metadata_records",
    "kafka_py.coordinator.group.group_offsets",
    "kafka_py.coordinator.group.member_metadata",
    "kafka_py.log.abstract_index",
    "kafka_py.log.local_log",
    "kafka_py.log.log",
    "kafka_py.log.log_append_info",
    "kafka_py.log.log_file_utils",
    "kafka_py.log.log_loader",
    "kafka_py.log.log_segment",
    "kafka_py.log.log_validator",
    "kafka_py.log.offset_index",
    "kafka_py.log.producer_state_manager",
    "kafka_py.log.producer_updates",
    "kafka_py.log.time_index",
    "kafka_py.metrics.kafka_metrics_group",
    "kafka_py.metrics.yammer",
    "kafka_py.network.abstract_server_thread",
    "kafka_py.network.acceptor",
    "kafka_py.network.connection_quotas",
    "kafka_py.network.processor",
    "kafka_py.network.request_channel",
    "kafka_py.network.request_histogram",
    "kafka_py.network.request_metrics",
    "kafka_py.server.auth_helper",
    "kafka_py.server.delayed_fetch",
    "kafka_py.server.delayed_operation",
    "kafka_py.server.delayed_produce",
    "kafka_py.server.epoch.leader_epoch_file_cache",
    "kafka_py.server.fetch_params",
    "kafka_py.server.fetch_session",
    "kafka_py.server.high_watermark_checkpoints",
    "kafka_py.server.hosted_partitions",
    "kafka_py.server.isr_change_propagation",
    "kafka_py.server.kafka_apis",
    "kafka_py.server.kafka_apis_admin",
    "kafka_py.server.kafka_apis_cluster",
    "kafka_py.server.kafka_apis_groups",
    "kafka_py.server.kafka_apis_metadata",
    "kafka_py.server.kafka_apis_records",
    "kafka_py.server.kafka_apis_transactions",
    "kafka_py.server.kafka_request_handler",
    "kafka_py.server.log_dir_failure_channel",
    "kafka_py.server.log_read_result",
    "kafka_py.server.metadata_cache",
    "kafka_py.server.replica_manager",
    "kafka_py.server.replica_manager_admin",
    "kafka_py.server.replica_manager_leadership",
    "kafka_py.server.request_handler_helper",
    "kafka_py.utils.concurrent_queues",
    "kafka_py.utils.pool",
    "kafka_py.utils.timer.timer",
    "kafka_py.utils.timer.timer_task",
    "kafka_py.utils.timer.timer_task_list",
    "kafka_py.utils.timer.timing_wheel",
)

_PROGRESS = "progress: "
_SETUP = """\
import os
from concurrent.futures import ThreadPoolExecutor

from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext


class Parallel(build_ext):
    def build_extensions(self):
        one_by_one = self.compiler.compile

        def compile(sources, *args, **kwargs):
            by_size = sorted(sources, key=os.path.getsize, reverse=True)
            objects = []
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                for made in pool.map(lambda source: one_by_one([source], *args, **kwargs), by_size):
                    objects += made
                    if len(objects) % 20 == 0:
                        print(f"{progress}{{len(objects)}} of {{len(sources)}} C files compiled", flush=True)
            return objects

        self.compiler.compile = compile
        super().build_extensions()


modules = mypycify(["--config-file=mypy.ini", *{files!r}], opt_level="2", debug_level="0", multi_file=True)
print("{progress}type-checked and translated to C", flush=True)
setup(name="compiled", packages=[], ext_modules=modules, cmdclass={{"build_ext": Parallel}})
"""


def missing_tools() -> list[str]:
    """What has to be installed before anything can be compiled, in words; empty if all is there."""
    missing = [
        f"the package {package}: pip install '.[compile]' in the folder of the clone"
        for package, module in (("mypy", "mypyc"), ("setuptools", "setuptools"))
        if importlib.util.find_spec(module) is None
    ]
    compiler = str(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        missing.append(f"a C compiler ({compiler} is not on the PATH): apt-get install gcc, or what your system has")
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        missing.append(
            f"Python's C headers (there is no {header}): apt-get install python3-dev, or what your system has"
        )
    return missing


def build(root: Path, modules: Sequence[str] = MODULES) -> Manifest:
    """Compile these modules of the clone at `root` for this interpreter, in the place of what was compiled before.

    Raises CompileError if a tool is missing, if mypy or mypyc refuse the prepared copy or if the C compiler fails; the
    former build stays as it was then.
    """
    if FREE_THREADED:
        raise CompileError(
            "This Python is a free-threaded build. What mypyc compiles leans on the GIL for attributes that several "
            "threads use; the broker runs from its sources here"
        )
    missing = missing_tools()
    if missing:
        raise CompileError("Nothing can be compiled without " + "\nand without ".join(missing))
    target = compiled_dir(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = sources_of(root)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="new-") as name:
        copy = Path(name)
        shutil.copytree(root / "kafka_py", copy / "kafka_py", ignore=shutil.ignore_patterns("__pycache__"))
        prepare(copy, modules)
        files = [f"{module.replace('.', '/')}.py" for module in modules]
        (copy / "mypy.ini").write_text(_mypy_settings(root))
        (copy / "setup.py").write_text(_SETUP.format(files=files, progress=_PROGRESS))
        _run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], copy)
        result = copy / "result"
        manifest = Manifest(sources, _collect(copy, result, modules))
        if sources_of(root) != sources:
            raise CompileError("The sources were changed while they were being compiled; start again")
        manifest.write(result)
        remove(root)
        result.rename(target)
    return manifest


def remove(root: Path) -> bool:
    """Delete what was compiled for this interpreter; False if there is nothing."""
    target = compiled_dir(root)
    if not target.exists():
        return False
    shutil.rmtree(target)
    return True


def _mypy_settings(root: Path) -> str:
    """The project's own; only that a warning about an `ignore` which the copy does not need is no reason to fail."""
    settings = configparser.ConfigParser()
    settings.read(root / "setup.cfg")
    for section in settings.sections():
        if section.split("-")[0] != "mypy":
            settings.remove_section(section)
    settings.remove_option("mypy", "files")
    settings.set("mypy", "warn_unused_ignores", "false")
    out = io.StringIO()
    settings.write(out)
    return out.getvalue()


def _run(command: list[str], folder: Path) -> None:
    """Run the compilers; their lines are shown only if they fail, but for what they tell of their progress."""
    # nothing of the outside may stand for the copy
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_PROGRESS):
                print(line.removeprefix(_PROGRESS).rstrip(), flush=True)
            else:
                lines.append(line)
    if process.returncode:
        errors = [line for line in lines if " warning: " not in line] or lines
        raise CompileError("The compilation failed:\n" + "".join(errors[-60:]).rstrip())


def _collect(copy: Path, result: Path, modules: Sequence[str]) -> dict[str, str]:
    """Move the extension modules into `result`; their names and files."""
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    found = {}
    for file in sorted(copy.rglob(f"*{suffix}")):
        path = file.relative_to(copy)
        if path.parts[0] != "build":
            found[".".join(path.parts).removesuffix(suffix)] = str(path)
            (result / path).parent.mkdir(parents=True, exist_ok=True)
            file.rename(result / path)
    absent = set(modules) - found.keys()
    if absent:
        raise CompileError(f"mypyc has made no {', '.join(sorted(absent))}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, or --remove, or --check; the exit status, 1 if it could not be done."""
    parser = argparse.ArgumentParser(
        prog="kafka-compile.py",
        description="Compiles the broker's request path; the broker uses it as long as the sources stay as they are.",
    )
    parser.add_argument("--remove", action="store_true", help="delete what was compiled")
    parser.add_argument("--check", action="store_true", help="only say what is missing; 1 if something is")
    parser.add_argument(
        "--wheel",
        nargs="?",
        const="dist",
        metavar="DIR",
        help="make an sdist, a wheel, and a wheel with the compiled modules for this platform (default: in dist)",
    )
    wanted = parser.parse_args(arguments)
    if wanted.remove:
        print("Removed; the broker runs its sources" if remove(ROOT) else "There is nothing compiled")
        return 0
    if wanted.check:
        print("\n".join(f"Missing: {what}" for what in missing_tools()) or "All that is needed is there")
        return 1 if missing_tools() else 0
    try:
        if wanted.wheel is None or not is_current(ROOT):
            _build_and_tell()
        if wanted.wheel is not None:
            for file in make_wheels(ROOT, Path(wanted.wheel)):
                print(file, flush=True)
    except CompileError as e:
        print(e, file=sys.stderr)
        return 1
    return 0


def is_current(root: Path) -> bool:
    """Whether what is compiled for this interpreter was made from the present sources."""
    manifest = Manifest.read(compiled_dir(root))
    return manifest is not None and not manifest.changed(sources_of(root))


def make_wheels(root: Path, target: Path) -> list[Path]:
    """The sdist, the pure wheel and the compiled one, as files in `target`, of a clone in which all is compiled."""
    sdist, pure = build_distributions(root, target.resolve())
    return [sdist, pure, add_modules(pure, compiled_dir(root), platform_tag())]


def _build_and_tell() -> None:
    print(f"Compiling {len(MODULES)} modules, which takes some minutes ...", flush=True)
    start = Time.SYSTEM.hi_res_clock_ms()
    build(ROOT)
    seconds = (Time.SYSTEM.hi_res_clock_ms() - start) / 1000
    print(f"{len(MODULES)} modules compiled in {seconds:.0f} s: {compiled_dir(ROOT)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

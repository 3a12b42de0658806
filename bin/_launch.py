"""Starts one of kafka_py's commands from a clone or an installation, in the foreground or (-daemon) behind it.

Each script beside this file is two lines: `from _launch import main` and `main("package.module")`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(module: str, *prefix: str) -> None:
    """Run `module`'s main with the command line; prefix stands before what the user gave."""
    run(module, sys.argv[0], [*prefix, *sys.argv[1:]])


def run(module: str, argv0: str, arguments: list[str]) -> None:
    """As main, for a command line of one's own."""
    use_the_clone("pyspark" if module.startswith("kafka_py.spark.") else "kazoo")
    if "-daemon" in arguments[:1] or "--daemon" in arguments[:1]:
        start_daemon(pathlib.Path(argv0).resolve(), arguments[1:])
        return
    sys.argv = [argv0, *arguments]
    if module == "kafka_py.kafka":
        choose_the_form()
    try:
        status = importlib.import_module(module).main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`); keep Python from flushing into the same pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)


def use_the_clone(package: str) -> None:
    """Find kafka_py and its packages, this one too: in this interpreter, or else in the .venv beside bin/."""
    if (ROOT / "kafka_py").is_dir():
        sys.path.insert(0, str(ROOT))
    has_broker = importlib.util.find_spec("kazoo") is not None
    if has_broker and importlib.util.find_spec(package) is not None:
        return
    python = ROOT / ".venv" / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        os.execv(python, [str(python), *sys.argv])
    if has_broker:
        return  # the command says itself what it lacks
    sys.exit(
        "kafka_py's packages are not installed. Install them with `pip install .` in the folder of the clone, "
        "or have them installed in a virtual environment by `python3 bin/run-tests.py`."
    )


def choose_the_form() -> None:
    """Let the broker run compiled modules if bin/kafka-compile.py has made some of the present sources."""
    from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, Compiled, CompiledMissingError

    if (ROOT / "kafka_py").is_dir():
        try:
            Compiled.choose(ROOT, os.environ.get(ENVIRONMENT_VARIABLE))
        except CompiledMissingError as e:
            sys.exit(str(e))


def start_daemon(script: pathlib.Path, arguments: list[str]) -> None:
    """Start the script again without a terminal, its output going to LOG_DIR/NAME.out as with Kafka's scripts."""
    names = {"kafka-server-start": "kafkaServer", "zookeeper-server-start": "zookeeper"}
    name = os.environ.get("DAEMON_NAME") or names.get(script.stem, script.stem)
    log_dir = pathlib.Path(os.environ.get("LOG_DIR") or ROOT / "logs")
    log_dir.mkdir(parents=True, exist_ok=True)
    with (log_dir / f"{name}.out").open("ab") as out:
        subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

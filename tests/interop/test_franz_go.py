"""franz-go's own tests on three of our brokers; they take a minute or more, so only with KAFKA_PY_KGO set.

KAFKA_PY_KGO=1 is the short form, KAFKA_PY_KGO=500000 the one with as many records as franz-go's own.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.interop.apache_kafka import UnavailableError
from tests.interop.clients import suite

pytestmark = pytest.mark.slow
MODULE = "github.com/twmb/franz-go@v1.22.2"
SHORT = {"KGO_TEST_RECORDS": "20000", "KGO_TEST_MAX_TOPIC_PARTS": "7"}
TIMEOUT_S = 280


def program() -> pathlib.Path:
    """Its tests, compiled. Raises UnavailableError."""
    go = suite.needed("go")

    def make(folder: pathlib.Path) -> None:
        done = subprocess.run([go, "mod", "download", "-json", MODULE], capture_output=True, text=True, cwd=folder)
        if done.returncode:
            raise UnavailableError(done.stdout + done.stderr)
        shutil.copytree(json.loads(done.stdout)["Dir"], folder / "source", copy_function=shutil.copyfile)
        for path in (folder / "source").rglob("*"):
            path.chmod(path.stat().st_mode | 0o200)
        suite.run_to_make([go, "test", "-c", "-o", str(folder / "kgo.test"), "./pkg/kgo"], folder / "source")

    return suite.made("kgo", [], make, MODULE) / "kgo.test"


@pytest.mark.skipif("KAFKA_PY_KGO" not in os.environ, reason="takes a minute or more: set KAFKA_PY_KGO=1")
def test_kgo(tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        tests = program()
    except UnavailableError as e:
        pytest.skip(str(e))
    records = os.environ["KAFKA_PY_KGO"]
    size = SHORT if records == "1" else {"KGO_TEST_RECORDS": records}
    with suite.cluster(tmp_path_factory.mktemp("kgo")) as cluster:
        environment = {**os.environ, **size, "KGO_SEEDS": cluster.bootstrap_servers, "KGO_TEST_RF": "3"}
        done = subprocess.run(
            [str(tests), "-test.v", f"-test.timeout={TIMEOUT_S}s"],
            cwd=tests.parent / "source" / "pkg" / "kgo", env=environment, capture_output=True, text=True,
        )  # fmt: skip
    assert re.findall(r"^--- FAIL: (\S+)", done.stdout, re.M) == []
    assert done.returncode == 0, done.stdout[-3000:]

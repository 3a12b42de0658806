"""What the lab says before its round trip."""

from __future__ import annotations

import pytest

from kafka_py.lab.kafka_lab import default_file, form_line
from kafka_py.utils.compiled import Form


@pytest.mark.parametrize(
    ("form", "how"),
    [
        ("84 compiled modules", "KAFKA_PY_COMPILED=0 runs the sources"),
        (Form.NOT_BUILT.value, "run bin/kafka-compile.py"),
        (Form.STALE.value, "run bin/kafka-compile.py"),
        (Form.SWITCHED_OFF.value, "without KAFKA_PY_COMPILED=0 compiled modules are used"),
    ],
)
def test_which_form_runs_and_how_to_get_the_other(form: str, how: str) -> None:
    said = form_line(f"first\n[2018-07-06 00:00:00,000] INFO Request path: {form} (kafka.Kafka$)\nlast\n")
    assert said.startswith(f"Request path: {form}; ")
    assert how in said
    assert "\n" not in said


def test_the_readme_of_the_clone_is_sent() -> None:
    assert default_file().name == "README.md"
    assert default_file().is_file()

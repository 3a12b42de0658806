"""Common clients, as they come, through one suite of steps on three of our brokers.

docs/clients.md has what they said.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.interop.apache_kafka import UnavailableError
from tests.interop.clients import suite
from tests.interop.clients.steps import STEPS

pytestmark = pytest.mark.slow

Runs = dict[str, Future[list[suite.Result]]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """All clients on one cluster, two at a time."""
    with (
        suite.cluster(tmp_path_factory.mktemp("clients")) as cluster,
        ThreadPoolExecutor(suite.AT_ONCE) as pool,
    ):
        yield {c.name: pool.submit(suite.run, c, cluster.bootstrap_servers) for c in suite.CLIENTS}
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def page() -> dict[str, dict[str, str]]:
    return suite.parse(suite.table(pathlib.Path(suite.PAGE).read_text()))


@pytest.mark.parametrize("client", suite.CLIENTS, ids=lambda client: client.name)
def test_client(client: suite.Client, runs: Runs, page: dict[str, dict[str, str]]) -> None:
    """Every step passes or stands on the page with its reason; tools/client_table.py writes the page."""
    try:
        results = runs[client.name].result()
    except UnavailableError as e:
        pytest.skip(str(e))
    said = {result.step: suite.cell(result) for result in results}
    assert not {step: why for step, why in said.items() if why.startswith("FAILS")}
    assert said == page[client.name]


def test_the_page_has_no_other_clients(page: dict[str, dict[str, str]]) -> None:
    assert list(page) == [client.name for client in suite.CLIENTS]


def test_a_table_is_read_as_it_was_written() -> None:
    cells = {"one": dict.fromkeys(STEPS, ""), "two": {**dict.fromkeys(STEPS, "it has none"), STEPS[0]: ""}}
    assert suite.parse(suite.render(cells)) == cells

"""Run the clients of tests/interop/clients on three brokers and rewrite the table of docs/clients.md.

    python tools/client_table.py            all clients
    python tools/client_table.py NAME …     these; the others' columns stay as they are

tests/interop/test_client_conformance.py compares the same.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.interop.apache_kafka import UnavailableError
from tests.interop.clients import suite


def told(client: suite.Client, bootstrap_servers: str) -> dict[str, str] | None:
    """The client's column, or None where it cannot run here."""
    try:
        results = suite.run(client, bootstrap_servers)
    except UnavailableError as e:
        print(f"{client.name}: {e}")
        return None
    print(f"{client.name}: {sum(result.ms for result in results) / 1000:.0f} s", flush=True)
    return {result.step: suite.cell(result) for result in results}


def main(wanted: list[str]) -> int:
    page = suite.PAGE.read_text()
    before = suite.table(page)
    cells = suite.parse(before) if before.strip() else {}
    chosen = [client for client in suite.CLIENTS if not wanted or client.name in wanted]
    with tempfile.TemporaryDirectory() as home, suite.cluster(pathlib.Path(home)) as cluster:
        with ThreadPoolExecutor(suite.AT_ONCE) as pool:
            columns = list(pool.map(lambda client: told(client, cluster.bootstrap_servers), chosen))
    for client, column in zip(chosen, columns, strict=True):
        if column is not None:
            cells[client.name] = column
    cells = {client.name: cells[client.name] for client in suite.CLIENTS if client.name in cells}
    suite.PAGE.write_text(page.replace(suite.BEGIN + before, suite.BEGIN + suite.render(cells)))
    failed = [
        f"{client} {step}: {why}"
        for client, column in cells.items()
        for step, why in column.items()
        if why[:5] == "FAILS"
    ]
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""@platformatic/kafka asked for the steps of the conformance suite: it misses what all of them need and says so."""

from tests.interop.clients import node_program
from tests.interop.clients.driven_client import DrivenClient
from tests.interop.clients.steps import Client, main


def make(bootstrap: str) -> Client:
    return DrivenClient(node_program.command("platformatic"), bootstrap)


if __name__ == "__main__":
    main(make)

"""The table of management beans: what a JVM's MBean server is to Kafka, reduced to reading attributes.

Ours, no original. The HTTP endpoint reads it for `/jmx` and `/metrics`; the two metrics libraries and a few objects
(`app-info`, `Log4jController`) register here under the names they have in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from kafka_py.utils.concurrent import ConcurrentHashMap

Attributes = Mapping[str, Callable[[], object]]
Source = Callable[[], Iterable[tuple[str, Attributes]]]


class MBeanServer:
    """Bean name (`domain:type=T,name=N,k=v`) -> attribute name -> function that reads it.

    Mirrors: javax.management.MBeanServer (reading only)
    """

    def __init__(self) -> None:
        self._beans: ConcurrentHashMap[str, Attributes] = ConcurrentHashMap()  # atomic
        self._sources: ConcurrentHashMap[Source, bool] = ConcurrentHashMap()  # atomic

    def register(self, name: str, attributes: Attributes) -> None:
        """Make a bean readable; replaces one of the same name."""
        self._beans[name] = attributes

    def unregister(self, name: str) -> bool:
        """Forget a bean; whether there was one."""
        return self._beans.remove(name) is not None

    def is_registered(self, name: str) -> bool:
        """Whether there is a bean of that name."""
        return name in self._beans

    def get_attribute(self, bean: str, attribute: str) -> object:
        """Read one attribute; KeyError if there is no such bean or attribute."""
        return self._beans[bean][attribute]()

    def add_source(self, source: Source) -> None:
        """List the beans that it tells of, too, when all are asked for: they cost nothing until then."""
        self._sources.put(source, True)

    def remove_source(self, source: Source) -> None:
        """Forget a source."""
        self._sources.remove(source)

    def beans(self) -> Iterator[tuple[str, Attributes]]:
        """A snapshot of names and attributes, in the order they were registered, then those of the sources."""
        yield from self._beans.items()
        for source in self._sources.keys():  # noqa: SIM118  # its keys are a snapshot
            yield from ((name, attributes) for name, attributes in source() if name not in self._beans)


PLATFORM_MBEAN_SERVER = MBeanServer()

"""A way to an engine on which messages can be held up: all of them, or some that others overtake."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from fencepost.core.url import parse_url
from fencepost.testing.contract.site import Site
from fencepost.testing.late import LateProxy


class Detour:
    """`site` is the same engine, reached through proxies, one for each of its hosts."""

    def __init__(self, site: Site, proxies: list[LateProxy]) -> None:
        self.site = site
        self._proxies = proxies

    def silence(self) -> None:
        """Nothing that is sent arrives, until `heal`."""
        for proxy in self._proxies:
            proxy.hold()

    def drip(self) -> None:
        """Every answer arrives one byte at a time, and takes for ever; until `heal`."""
        for proxy in self._proxies:
            proxy.drip()

    def heal(self) -> None:
        for proxy in self._proxies:
            proxy.heal()

    def detain(self) -> None:
        for proxy in self._proxies:
            proxy.detain()

    def has_kept(self) -> bool:
        """Whether something to each of the hosts was held up."""
        return all(proxy.kept for proxy in self._proxies)

    def hang_up(self) -> None:
        for proxy in self._proxies:
            proxy.hang_up()

    def deliver(self) -> None:
        for proxy in self._proxies:
            proxy.deliver()


@contextmanager
def detour(site: Site) -> Iterator[Detour]:
    """Needs an engine whose URL names every host that is spoken to, with its port."""
    url = site.url
    with ExitStack() as stack:
        proxies = []
        for host, port in parse_url(site.url).hosts:
            assert port is not None, f"say the port of {host} in {site.url}"
            proxy = stack.enter_context(LateProxy(port, host=host))
            url = url.replace(f"{host}:{port}", f"127.0.0.1:{proxy.port}")
            proxies.append(proxy)
        yield Detour(Site(url, ttl=site.ttl), proxies)

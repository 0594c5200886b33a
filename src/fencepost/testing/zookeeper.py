"""ZooKeeper under test: one server from Debian's package, or an ensemble of three current ones.

The leader of an ensemble of Debian's 3.8.0 can leave its only client without an answer until somebody else writes
(ZOOKEEPER-4537, mended in 3.8.1): it misses a wake-up between committing a request and applying it.
"""

import socket
from collections.abc import Mapping
from functools import cache

from fencepost.testing.binary import find_binary, find_file, find_jars
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess, listening

JAR = "/usr/share/java/zookeeper.jar"
# What the server needs beyond what its own jar names: somewhere to log to, and for TLS more of Netty.
BESIDE = ("slf4j-simple", "netty-codec", "netty-resolver")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
# Small and quick to start; a server that is killed keeps its data without syncing it, one that loses power would not.
JAVA = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
QUIET = {"zookeeper.forceSync": "no", "org.slf4j.simpleLogger.defaultLogLevel": "warn"}
# Sessions last two ticks at least: ticks of a tenth of a second allow leases that tests can wait for.
SETTINGS = {
    "tickTime": 100,
    "initLimit": 200,
    "syncLimit": 20,
    "maxSessionTimeout": 3_600_000,
    "maxClientCnxns": 0,
    "admin.enableServer": "false",
    "4lw.commands.whitelist": "*",
    "preAllocSize": 1024,
    "clientPortAddress": "127.0.0.1",
}
# How many seconds a server, or an ensemble, may take on a busy machine to serve.
UP = 60.0


class ZookeeperServer(ServerProcess):
    """One server of `ensemble` (by number: the ports for the peers); alone if that is empty. Not started yet."""

    def __init__(
        self,
        *,
        number: int = 1,
        ensemble: Mapping[int, str] | None = None,
        settings: Mapping[str, object] | None = None,
        properties: Mapping[str, str] | None = None,
        java: tuple[str, ...] = JAVA,
    ) -> None:
        self.port = free_port()
        defined = {**QUIET, **(properties or {})}
        jars = find_jars("zookeeper") if ensemble else packaged_jars()
        argv = [find_binary("java", "default-jre-headless"), *java, "-cp", jars]
        argv += [f"-D{key}={value}" for key, value in defined.items()]
        super().__init__([*argv, MAIN, "{folder}/zoo.cfg"], ready=listening(self.port), timeout=UP)
        lines = {**SETTINGS, "dataDir": self.folder / "data", "clientPort": self.port, **(settings or {})}
        lines |= {f"server.{each}": address for each, address in (ensemble or {}).items()}
        (self.folder / "zoo.cfg").write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        (self.folder / "data").mkdir()
        (self.folder / "data" / "myid").write_text(f"{number}\n")

    def ask(self, word: str) -> str:
        """What it answers to one of the four-letter words, nothing if it does not."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5.0) as asked:
                asked.sendall(word.encode())
                return asked.makefile("rb").read().decode()
        except OSError:
            return ""

    @property
    def mode(self) -> str:
        """'standalone', 'leader', 'follower', or '' while it does not serve."""
        lines = self.ask("srvr").splitlines()
        return next((line.removeprefix("Mode: ") for line in lines if line.startswith("Mode: ")), "")


class Ensemble:
    """Three servers that elect a leader."""

    def __init__(self, settings: Mapping[str, object] | None = None, size: int = 3) -> None:
        peers = {each: f"127.0.0.1:{free_port()}:{free_port()}" for each in range(1, size + 1)}
        self.servers = [ZookeeperServer(number=each, ensemble=peers, settings=settings) for each in peers]

    def __enter__(self) -> "Ensemble":
        try:
            for server in self.servers:
                server.start()
            self.until_serving()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for server in self.servers:
            server.kill()
            server.close()

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    @property
    def url(self) -> str:
        return f"zookeeper://{self.hosts}"

    def repair(self) -> None:
        """All up, and serving."""
        for server in self.servers:
            if server.running:
                server.resume()
            else:
                server.start()
        self.until_serving()

    def until_serving(self, most: int | None = None) -> None:
        """Until all that run (or as many as that) serve, and one of them leads."""
        running = [server for server in self.servers if server.running]

        def serving() -> bool:
            modes = [server.mode for server in running]
            return "leader" in modes and sum(map(bool, modes)) >= (most or len(running))

        until(serving, UP)

    def leader(self) -> ZookeeperServer:
        return self._known("leader")[0]

    def followers(self) -> list[ZookeeperServer]:
        return self._known("follower")

    def _known(self, mode: str) -> list[ZookeeperServer]:
        """Those of that kind, of which there is one at least, also where a server is slow to say so."""
        found: list[ZookeeperServer] = []

        def known() -> bool:
            found[:] = [server for server in self.servers if server.running and server.mode == mode]
            return bool(found)

        until(known, UP)
        return found


def packaged_jars() -> str:
    return ":".join((find_file(JAR, "zookeeper"), *(f"/usr/share/java/{jar}.jar" for jar in BESIDE)))


# Started once for each process that runs tests, and ended with it.


@cache
def shared_server() -> ZookeeperServer:
    server = ZookeeperServer(properties={"znode.container.checkIntervalMs": "500"})
    server.start()
    until(lambda: server.mode, UP)
    return server


@cache
def shared_ensemble() -> Ensemble:
    ensemble = Ensemble()
    ensemble.__enter__()
    return ensemble


def sessions_at(server: ZookeeperServer) -> int:
    """How many sessions a server that is alone, or leads, keeps."""
    lines = server.ask("mntr").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("zk_global_sessions")))

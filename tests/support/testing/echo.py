"""A TCP server that sends back what it gets, for tests of the harness. Arguments: port, then how to behave."""

import os
import socketserver
import sys


class Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            with open("received", "ab") as record:
                record.write(line)
            self.wfile.write(line)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    port, *behaviour = sys.argv[1:]
    if "fail" in behaviour:
        print("no such configuration: 'nonsense'", flush=True)
        sys.exit(3)
    if "stubborn" in behaviour:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Server(("127.0.0.1", int(port)), Echo) as server:
        print(f"pid {os.getpid()} is up", flush=True)
        server.serve_forever()

#!/bin/sh
# Builds current Consul and etcd servers, and an object store (versitygw), from the Go module proxy, at the versions
# pinned here, once:
#   sh tools/servers/build.sh [consul] [etcd] [versitygw]
# They land outside of the tree, in $FENCEPOST_SERVERS/bin (by default ~/.cache/fencepost/servers/bin), where
# `fencepost.testing.binary` looks before it looks on PATH.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin="${FENCEPOST_SERVERS:-${XDG_CACHE_HOME:-$HOME/.cache}/fencepost/servers}/bin"
PATH="$PATH:/usr/local/go/bin"

if ! command -v go >/dev/null; then
    echo "no Go here (https://go.dev/dl), so no current Consul and etcd and no object store: their tests will be skipped, in CI they fail" >&2
    exit 0
fi
mkdir -p "$bin"

# build MODULE BINARY PACKAGE: nothing to do if BINARY was built from the pins as they are now.
build() {
    pins="$(cksum <"$here/$1/go.sum") $(go env GOVERSION)"
    [ -x "$bin/$2" ] && [ "$(cat "$bin/.$2.pins" 2>/dev/null)" = "$pins" ] && return
    echo "building $2 (once, a few minutes)" >&2
    begun=$(date +%s)
    # Two builds at a time may race: each writes aside, and the last to finish wins with an equal file.
    (cd "$here/$1" && CGO_ENABLED=0 nice -n 10 go build -trimpath -ldflags "-s -w" -o "$bin/.$2.$$" "$3")
    mv "$bin/.$2.$$" "$bin/$2"
    echo "$pins" >"$bin/.$2.pins"
    echo "built $bin/$2 in $(($(date +%s) - begun)) s" >&2
}

for server in ${*:-etcd consul versitygw}; do
    case "$server" in
    consul) build consul consul github.com/hashicorp/consul ;;
    etcd | etcdctl)
        build etcd etcd go.etcd.io/etcd/server/v3
        build etcd etcdctl go.etcd.io/etcd/etcdctl/v3
        ;;
    versitygw) build versitygw versitygw github.com/versity/versitygw/cmd/versitygw ;;
    *) echo "what is '$server'? consul, etcd or versitygw" >&2 && exit 64 ;;
    esac
done

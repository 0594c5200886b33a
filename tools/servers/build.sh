#!/bin/sh
# Builds current Consul and etcd servers, an object store (versitygw), and the second checker of storms (porcupine, see
# tools/porcupine), with Go, and collects the jars of a current ZooKeeper with Maven, at the versions pinned here, once:
#   sh tools/servers/build.sh [consul] [etcd] [porcupine] [versitygw] [zookeeper]
# They land outside of the tree, in $FENCEPOST_SERVERS (by default ~/.cache/fencepost/servers), where
# `fencepost.testing.binary` looks before it looks on PATH.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
home="${FENCEPOST_SERVERS:-${XDG_CACHE_HOME:-$HOME/.cache}/fencepost/servers}"
bin="$home/bin"
PATH="$PATH:/usr/local/go/bin"
mkdir -p "$bin"

# collect FOLDER: the jars that FOLDER/pom.xml names.
collect() {
    pins=$(cksum <"$here/$1/pom.xml")
    [ "$(cat "$home/$1/.pins" 2>/dev/null)" = "$pins" ] && return
    if ! command -v mvn >/dev/null; then
        echo "no Maven here (apt-get install maven), so no current $1: its tests will be skipped, in CI they fail" >&2
        return
    fi
    echo "fetching $1 (once)" >&2
    aside="$home/.$1.$$"
    mvn -q -B -f "$here/$1/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$aside" >&2
    echo "$pins" >"$aside/.pins"
    rm -rf "${home:?}/$1"
    # Another may have been quicker, with equal files.
    mv -T "$aside" "$home/$1" 2>/dev/null || rm -rf "$aside"
}

# build MODULE BINARY PACKAGE: nothing to do if BINARY was built from the pins, and the sources if they are ours, as
# they are now.
build() {
    if ! command -v go >/dev/null; then
        echo "no Go here (https://go.dev/dl), so no current $2: its tests will be skipped, in CI they fail" >&2
        return
    fi
    pins="$(cat "$here/$1/go.sum" "$here/$1/"*.go 2>/dev/null | cksum) $(go env GOVERSION)"
    [ -x "$bin/$2" ] && [ "$(cat "$bin/.$2.pins" 2>/dev/null)" = "$pins" ] && return
    echo "building $2 (once; a server takes a few minutes)" >&2
    begun=$(date +%s)
    # Two builds at a time may race: each writes aside, and the last to finish wins with an equal file.
    (cd "$here/$1" && CGO_ENABLED=0 nice -n 10 go build -trimpath -ldflags "-s -w" -o "$bin/.$2.$$" "$3")
    mv "$bin/.$2.$$" "$bin/$2"
    echo "$pins" >"$bin/.$2.pins"
    echo "built $bin/$2 in $(($(date +%s) - begun)) s" >&2
}

for server in ${*:-zookeeper etcd consul porcupine versitygw}; do
    case "$server" in
    consul) build consul consul github.com/hashicorp/consul ;;
    etcd | etcdctl)
        build etcd etcd go.etcd.io/etcd/server/v3
        build etcd etcdctl go.etcd.io/etcd/etcdctl/v3
        ;;
    porcupine) build ../porcupine porcupine . ;;
    versitygw) build versitygw versitygw github.com/versity/versitygw/cmd/versitygw ;;
    zookeeper) collect zookeeper ;;
    *) echo "what is '$server'? consul, etcd, porcupine, versitygw or zookeeper" >&2 && exit 64 ;;
    esac
done

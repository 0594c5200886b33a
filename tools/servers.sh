#!/bin/sh
# Installs the servers that the tests start themselves: from Debian packages, where that is possible, and current
# Consul, etcd and ZooKeeper, an object store, and the second checker of storms, as tools/servers pins them.
# Elsewhere the tests that need a missing one are skipped, loudly and counted; in CI they fail.
set -eu

sh "$(dirname "$0")/servers/build.sh"

# Some servers live where only root looks.
PATH="$PATH:/usr/sbin:/usr/local/sbin"
missing=""
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need sqlite3 sqlite3
need redis-server redis-server
need redis-sentinel redis-sentinel
need openssl openssl
need faketime faketime
need etcd etcd-server
need etcdctl etcd-client
need pgbouncer pgbouncer
need mariadbd mariadb-server
[ -e /usr/share/java/zookeeper.jar ] || missing="$missing zookeeper"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"

[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing (once)" >&2
    apt-get update -qq
    # The tests start servers of their own: none needs to run as a service.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "not installed, and their tests will be skipped: apt-get install$missing" >&2
fi

#!/bin/sh
# Three PostgreSQL servers under Patroni, and three of etcd that elect their leader, on this machine: for trials and tests.
# Debian's packages: postgresql patroni etcd-server. docs/high-availability.md says what differs on three machines.
#
#   cluster.sh prepare FOLDER sync|async   writes the settings, with free ports, and prints the address for clients
#   cluster.sh etcd FOLDER 1|2|3           runs one member of etcd until it is ended
#   cluster.sh node FOLDER 1|2|3           runs one server with its Patroni until it is ended
#   cluster.sh kill FOLDER 1|2|3           ends a server and its Patroni as a loss of power does
#   cluster.sh up FOLDER                   runs all of them until standard input is closed
set -eu

# PostgreSQL refuses to run as root.
as_postgres() {
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"
    fi
    exec "$@"
}

free_ports() {
    python3 -c '
import socket
sockets = [socket.socket() for _ in range(12)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))'
}

# Arguments: number, port of PostgreSQL, port of Patroni.
settings_of_node() {
    cat <<END
scope: ratchet
name: node$1
restapi: {listen: "127.0.0.1:$3", connect_address: "127.0.0.1:$3"}
etcd3: {hosts: "127.0.0.1:$clients1,127.0.0.1:$clients2,127.0.0.1:$clients3"}
bootstrap:
  dcs:
    # How long a leader that says nothing stays leader: the greater part of the gap after it is lost.
    ttl: ${PATRONI_TTL:-20}
    loop_wait: ${PATRONI_LOOP_WAIT:-5}
    retry_timeout: ${PATRONI_RETRY_TIMEOUT:-5}
    maximum_lag_on_failover: 1048576
    # A commit waits for a standby, and only that standby can be the next primary.
    synchronous_mode: $synchronous
    # With none left, commits wait instead of being acknowledged by one server alone.
    synchronous_mode_strict: $synchronous
    postgresql:
      use_pg_rewind: true
      parameters:
        wal_log_hints: "on"
        wal_keep_size: 512MB
        max_connections: 200
        synchronous_commit: "on"
  initdb: [{encoding: UTF8}, {locale: C}, data-checksums]
postgresql:
  listen: 127.0.0.1:$2
  connect_address: 127.0.0.1:$2
  data_dir: $folder/node$1
  bin_dir: $programs
  pgpass: $folder/pgpass$1
  # For a machine of one's own; elsewhere say scram-sha-256 and who may come from where.
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  parameters: {unix_socket_directories: "$folder"}
  authentication:
    superuser: {username: postgres}
    replication: {username: replicator}
    rewind: {username: postgres}
END
}

# Arguments: number, port for clients, port for peers.
settings_of_etcd() {
    cat <<END
name: etcd$1
data-dir: $folder/etcd$1
listen-client-urls: http://127.0.0.1:$2
advertise-client-urls: http://127.0.0.1:$2
listen-peer-urls: http://127.0.0.1:$3
initial-advertise-peer-urls: http://127.0.0.1:$3
# Patroni speaks to it by this.
enable-grpc-gateway: true
initial-cluster: etcd1=http://127.0.0.1:$peers1,etcd2=http://127.0.0.1:$peers2,etcd3=http://127.0.0.1:$peers3
END
}

prepare() {
    case $2 in
    sync) synchronous=true ;;
    async) synchronous=false ;;
    *) echo "say sync or async" >&2 && exit 2 ;;
    esac
    folder=$1
    programs=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)")
    set -- $(free_ports)
    clients1=$1 clients2=$2 clients3=$3 peers1=$4 peers2=$5 peers3=$6
    settings_of_etcd 1 "$clients1" "$peers1" >"$folder/etcd1.yml"
    settings_of_etcd 2 "$clients2" "$peers2" >"$folder/etcd2.yml"
    settings_of_etcd 3 "$clients3" "$peers3" >"$folder/etcd3.yml"
    settings_of_node 1 "$7" "${10}" >"$folder/node1.yml"
    settings_of_node 2 "$8" "${11}" >"$folder/node2.yml"
    settings_of_node 3 "$9" "${12}" >"$folder/node3.yml"
    if [ "$(id -u)" = 0 ]; then chown postgres: "$folder"; fi
    echo "postgres://postgres@127.0.0.1:$7,127.0.0.1:$8,127.0.0.1:$9/postgres?target_session_attrs=read-write"
}

run() {
    echo $$ >"$2/$1$3.pid"
    shift 3
    as_postgres "$@"
}

# As by a loss of power: Patroni, its server and all that belongs to it, at once.
kill_node() {
    server=$(head -n 1 "$1/node$2/postmaster.pid" 2>/dev/null) || server=
    kill -9 "$(cat "$1/node$2.pid")" $server ${server:+$(pgrep -P "$server")} 2>/dev/null || true
}

up() {
    for part in etcd node; do
        for number in 1 2 3; do
            "$0" "$part" "$1" "$number" >"$1/$part$number.log" 2>&1 </dev/null &
        done
    done
    cat >/dev/null
    for number in 1 2 3; do
        kill_node "$1" "$number"
        kill -9 "$(cat "$1/etcd$number.pid")" || true
    done
}

task=$1
shift
case $task in
prepare) prepare "$@" ;;
etcd) run etcd "$1" "$2" etcd --config-file "$1/etcd$2.yml" ;;
node) run node "$1" "$2" patroni "$1/node$2.yml" ;;
kill) kill_node "$1" "$2" ;;
up) up "$@" ;;
*) sed -n '2,10p' "$0" ;;
esac

#!/bin/sh
# The secrets of a cluster, made up anew, as compose.yaml and kustomization.yaml read them:
#   (umask 077; set -C; sh infra/secrets.sh > infra/.env)
# All processes of a cluster share them. With set -C a file that is there stays: a cluster that was started takes no other KEY_PEPPER, and
# its Elasticsearch no other password. NATS takes a password that begins with a digit for a number, so its own begin with a letter.
set -eu
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
echo "NATS_PASSWORD=p$(secret)"
echo "NATS_ROUTE_PASSWORD=p$(secret)"
echo "ELASTIC_PASSWORD=$(secret)"
echo "SESSION_KEYS=$(secret)"
echo "KEY_PEPPER=$(secret)"

#!/bin/sh
# The secrets of a cluster, made up anew, as compose.yaml and kustomization.yaml read them:
#   (umask 077; sh infra/secrets.sh > infra/.env)
# All processes of a cluster share them. NATS takes a password that begins with a digit for a number, so its own begin with a letter.
set -eu
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
echo "NATS_PASSWORD=p$(secret)"
echo "NATS_ROUTE_PASSWORD=p$(secret)"
echo "ELASTIC_PASSWORD=$(secret)"
echo "SESSION_KEYS=$(secret)"
echo "KEY_PEPPER=$(secret)"

#!/bin/sh
# Creates the namespace and the search attributes of the inbox, and waits until queries take them; what is there stays.
# Temporal's command line reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, and whatever else of TEMPORAL_* is set.
set -eu

namespace=${TEMPORAL_NAMESPACE:-default}
retention=${RETENTION:-30d}

# Runs a command once a second until it succeeds, for a minute.
wait_for() {
  what=$1
  shift
  left=60
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      echo "waited a minute for $what; it says:" >&2
      "$@"
      exit 1
    fi
    sleep 1
  done
}

attribute() {
  temporal operator search-attribute create --namespace "$namespace" --name "$1" --type "$2"
}

wait_for 'the server' temporal operator cluster health
temporal operator namespace describe --namespace "$namespace" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$namespace" --retention "$retention"
# The server keeps what it knows of namespaces for some seconds.
wait_for "the namespace $namespace" temporal workflow count --namespace "$namespace"

attribute CountersignState Keyword
attribute CountersignPending Int
attribute CountersignTools KeywordList
attribute CountersignDeadline Datetime
attribute CountersignAgent Keyword
attribute CountersignMetadata KeywordList

wait_for 'the search attributes' temporal workflow count --namespace "$namespace" --query \
  'CountersignState IS NULL AND CountersignPending IS NULL AND CountersignTools IS NULL AND CountersignDeadline IS NULL AND CountersignAgent IS NULL AND CountersignMetadata IS NULL'
echo "namespace $namespace is ready"

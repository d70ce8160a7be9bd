#!/bin/sh
# Creates both databases and brings them to the schema of this release; what is there already stays.
# The server to use is named by SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

prepare() {
  database=$1
  schema=$2
  temporal-sql-tool --database "$database" create-database
  if said=$(temporal-sql-tool --database "$database" update-schema --schema-name "$schema" 2>&1); then
    echo "$database has the schema of this release"
    return
  fi
  # Only a database that is new has no versions. Laid down a second time, version 0.0 would forget the real one.
  case $said in
    *schema_version*'does not exist'*) ;;
    *)
      echo "$said" >&2
      exit 1
      ;;
  esac
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-name "$schema"
}

prepare temporal postgresql/v12/temporal
prepare temporal_visibility postgresql/v12/visibility

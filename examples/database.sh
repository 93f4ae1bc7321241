# shellcheck shell=bash
# `source ../database.sh FILE`: an example's database is the server's that DATABASE_URL names, or the
# SQLite FILE of its config. Gives
#
#   sql "…"               runs statements, prints rows as a|b
#   drop_tables TABLE...  drops these, and all that Semel keeps there
#   "${store[@]}"         makes `semel` use that database in place of the config's

file=$1
url=${DATABASE_URL:-}
store=()

case $url in
  '')
    sql() { sqlite3 "$file" "$1"; }
    drop_tables() { rm -f "$file"*; }
    ;;
  postgresql://* | postgres://*)
    store=(--set "store.postgres.url=$url")
    sql() {
      PGOPTIONS='-c client_min_messages=warning' psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$url" <<<"$1"
    }
    drop_tables() {
      sql "$(printf 'DROP TABLE IF EXISTS %s; ' "$@") DROP SCHEMA IF EXISTS semel CASCADE"
    }
    ;;
  mysql://* | mariadb://*)
    store=(--set "store.mysql.url=$url")
    if [[ ! $url =~ ://([^:@]+)(:([^@]*))?@([^:/]+)(:([0-9]+))?/([^?]+)$ ]]; then
      echo "DATABASE_URL must be like mysql://user:password@host:port/database" >&2
      exit 1
    fi
    decoded() { printf %b "${1//'%'/\\x}"; } # in a URL %40 is @
    password=$(decoded "${BASH_REMATCH[3]}")
    client=(mariadb --no-defaults --batch --skip-column-names --protocol=tcp
      --user="$(decoded "${BASH_REMATCH[1]}")" --host="${BASH_REMATCH[4]}"
      --port="${BASH_REMATCH[6]:-3306}" --database="$(decoded "${BASH_REMATCH[7]}")")
    sql() { MYSQL_PWD=$password "${client[@]}" <<<"$1" | tr '\t' '|'; }
    drop_tables() {
      local semels
      semels=$(sql "SELECT concat('DROP ', replace(table_type, 'BASE ', ''), ' ', table_name, ';')
                    FROM information_schema.tables
                    WHERE table_schema = database() AND left(table_name, 6) = 'semel_'")
      sql "$(printf 'DROP TABLE IF EXISTS %s; ' "$@") $semels"
    }
    ;;
  *)
    echo "DATABASE_URL must begin with postgresql:// or mysql://" >&2
    exit 1
    ;;
esac

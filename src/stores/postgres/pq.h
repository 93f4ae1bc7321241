// libpq's types by name, for headers: its own header is included by sources alone.
#pragma once

struct pg_conn;
struct pg_result;
using PGconn = pg_conn;
using PGresult = pg_result;
using Oid = unsigned int;

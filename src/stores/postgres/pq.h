// libpq's types by name, for headers: only sources include its own header.
#pragma once

struct pg_conn;
struct pg_result;
using PGconn = pg_conn;
using PGresult = pg_result;
using Oid = unsigned int;

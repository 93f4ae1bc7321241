"""Who may know whom: the rooms of src/, and what each may include."""

import re

from tree import Finding, includes, is_test, without_noise

# Each room and the rooms whose headers it may include; its own are always fine, and so is
# include/semel. Kept in step with ARCHITECTURE.md.
KNOWS = {
    "base": set(),
    "system": {"base"},
    "core": {"base"},
    "telemetry": {"base", "core", "system"},
    "traces": {"base", "core", "system", "clients/curl"},
    "config": {"base", "core"},
    "operate": {"base", "core", "system", "config", "strategies"},
    "http_server": {"base", "core", "system"},
    "admin": {"base", "core", "system", "http_server", "telemetry", "strategies", "config", "operate"},
    "strategies": {"base", "core", "system"},
    "guard": {"base", "core", "system", "strategies"},
    "clients/curl": {"base", "core"},
    "clients/api": {"base", "core", "clients/curl"},
    "clients/sqs": {"base", "core", "system", "clients/curl"},
    "clients/kafka": {"base", "core", "system"},
    "clients/nats": {"base", "core", "system"},
    "clients/rabbitmq": {"base", "core", "system"},
    "clients/redis": {"base", "core", "system"},
    "stores/memory": {"base", "core", "system"},
    "stores/sql": {"base", "core", "system"},
    "stores/sqlite": {"base", "core", "system", "stores/sql"},
    "stores/postgres": {"base", "core", "system", "stores/sql"},
    "stores/mysql": {"base", "core", "system", "stores/sql"},
    "stores/redis": {"base", "core", "system", "clients/redis"},
    "sources": {"base", "core", "system"},
    "sources/broker": {"base", "core", "system"},
    "sources/http": {"base", "core", "system", "http_server"},
    "sources/kafka": {"base", "core", "system", "clients/kafka"},
    "sources/nats": {"base", "core", "system", "sources/broker", "clients/nats"},
    "sources/rabbitmq": {"base", "core", "system", "sources/broker", "clients/rabbitmq"},
    "sources/redis_streams": {"base", "core", "system", "sources/broker", "clients/redis"},
    "sources/sqs": {"base", "core", "system", "sources/broker", "clients/curl", "clients/sqs"},
    "handlers/sql": {"base", "core", "system"},
    "handlers/in_flight": {"base", "core", "system"},
    "handlers/exec": {"base", "core", "system", "handlers/in_flight"},
    "handlers/http": {"base", "core", "system", "clients/curl", "handlers/in_flight"},
    "handlers/kafka": {"base", "core", "system", "clients/kafka", "handlers/in_flight"},
    "handlers/nats": {"base", "core", "system", "clients/nats", "handlers/in_flight"},
    "handlers/redis_streams": {"base", "core", "system", "clients/redis", "handlers/in_flight"},
    "handlers/sqs": {"base", "core", "system", "clients/curl", "clients/sqs", "handlers/in_flight"},
    "handlers/rabbitmq": {"base", "core", "system", "clients/rabbitmq", "handlers/in_flight"},
    "producer": {"base", "core", "system"},
    "testing": {"base", "core", "system", "strategies", "guard", "stores/memory", "stores/sqlite", "stores/sql"},
    "engine": {"base", "core", "system", "strategies"},
    "tap": {"base", "core", "system"},
    "compose": {"base", "core", "system", "strategies", "guard", "clients/redis", "stores/memory",
                "stores/sqlite", "stores/postgres", "stores/mysql", "stores/redis", "sources", "sources/http", "sources/kafka", "sources/nats", "sources/rabbitmq", "sources/redis_streams", "sources/sqs", "handlers/sql", "handlers/exec", "handlers/http",
                "handlers/kafka", "handlers/nats", "handlers/rabbitmq", "handlers/redis_streams", "handlers/sqs", "producer", "engine", "config",
                "telemetry", "traces", "admin", "operate"},
}
KNOWS["cli"] = set(KNOWS) | {"cli"}

# Third-party headers by their beginning, and where they may appear.
OWNERS = {
    "simdjson": ("src/base/json_scan_test.cc", "src/base/utf8_test.cc", "benchmarks/"),  # to compare with
    "openssl/": ("src/base/", "src/clients/rabbitmq/tls", "src/clients/redis/tls", "tests/support/tls.cc", "benchmarks/"),
    "gnutls/": ("src/http_server/certificate.cc",),
    "microhttpd.h": ("src/http_server/",),
    "curl/": ("src/clients/curl/", "src/clients/api/", "src/handlers/http/", "src/traces/"),
    "sqlite3.h": ("src/stores/sqlite/", "src/cli/demo/database.cc", "tests/", "benchmarks/", "examples/"),
    "libpq-fe.h": ("src/stores/postgres/", "tests/", "benchmarks/", "examples/"),
    "mysql.h": ("src/stores/mysql/", "tests/", "benchmarks/"),
    "hiredis/": ("src/clients/redis/", "src/cli/demo/redis.cc", "tests/", "benchmarks/"),
    "librdkafka/": ("src/clients/kafka/", "src/sources/kafka/", "src/handlers/kafka/", "tests/", "benchmarks/", "examples/"),
    "amqp": ("src/clients/rabbitmq/", "src/sources/rabbitmq/", "src/handlers/rabbitmq/", "tests/", "benchmarks/"),
    "nats/": ("src/clients/nats/", "src/sources/nats/", "src/handlers/nats/", "tests/", "benchmarks/"),
    "yaml-cpp/": ("src/config/",),
    "CLI/": ("src/cli/",),
    "fmt/": ("src/", "tests/", "benchmarks/", "cmake/"),
    "gtest/": ("tests/",),
    "benchmark/": ("benchmarks/",),
    "tl/": ("include/semel/result.h",),  # marks what it declares as [[nodiscard]]
    "semel/": ("",),
}
# Headers of the system: fine anywhere but in the pure rooms, which have a list of their own.
SYSTEM = re.compile(r"(sys|linux|arpa|netinet)/[a-z0-9_]+\.h|[a-z0-9_]+\.h")
STANDARD = re.compile(r"[a-z_]+")

PURE = ("src/core/", "src/base/")
PURE_INCLUDES = re.compile(
    r"thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|fstream|iostream|"
    r"filesystem|random|ctime|time\.h|unistd\.h|fcntl\.h|poll\.h|signal\.h|csignal|"
    r"sqlite3\.h|sys/.*|linux/.*")
PURE_WORDS = re.compile(
    r"::now\s*\(|\bstd::(thread|jthread|mutex|shared_mutex|condition_variable|async|filesystem|"
    r"random_device|cout|cerr|[io]?fstream)\b|\b(getenv|secure_getenv|fopen|printf|fprintf|"
    r"gettimeofday|clock_gettime|rand|usleep|nanosleep)\s*\(|\btime\s*\(\s*(nullptr|NULL|0|&)|"
    r"::open\s*\(|\bthis_thread\b")


def room_of(path):
    """The room a path below src/ belongs to, or None."""
    inside = path.removeprefix("src/")
    rooms = [room for room in KNOWS if inside.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def layering(tree):
    """Rooms include only the rooms they may know; the public headers none."""
    for path in tree.code("include", "src"):
        room = room_of(path) if path.startswith("src/") else None
        if path.startswith("src/") and room is None:
            yield Finding(path, 1, "is in no room: name it in tests/tidy/rooms.py")
            continue
        for line, quoted, name in includes(tree.text(path)):
            if not quoted:
                continue
            if path.startswith("include/"):
                yield Finding(path, line, f'a public header includes "{name}": only <semel/…> may be')
            elif name.startswith("tests/") and is_test(path):
                continue
            elif (other := room_of(name)) is None:
                yield Finding(path, line, f'"{name}" names no room: include from src/, as "room/file.h"')
            elif other != room and other not in KNOWS[room]:
                yield Finding(path, line, f'"{name}": {room} may not know {other}')


def third_party(tree):
    """A third-party header appears only in the room that owns it, and never in a header of ours."""
    for path in tree.code("include", "src", "tests", "benchmarks", "examples", "cmake"):
        for line, quoted, name in includes(tree.text(path)):
            if quoted:
                continue
            owner = next((o for o in OWNERS if name.startswith(o)), None)
            if owner is None:
                if not STANDARD.fullmatch(name) and not SYSTEM.fullmatch(name):
                    yield Finding(path, line, f"<{name}> has no owner in tests/tidy/rooms.py")
                continue
            if owner == "gtest/" and is_test(path):
                continue
            if not path.startswith(OWNERS[owner]):
                yield Finding(path, line, f"<{name}> belongs to {', '.join(OWNERS[owner])} alone")
            elif path.endswith(".h") and path.startswith("src/") and owner not in ("tl/", "semel/"):
                yield Finding(path, line, f"<{name}> in a header: keep it in a .cc")


def purity(tree):
    """core and base decide and touch nothing: no I/O, no threads, no clock."""
    for path in tree.code(*(p.rstrip("/") for p in PURE)):
        if is_test(path):
            continue
        text = tree.text(path)
        for line, _, name in includes(text):
            if PURE_INCLUDES.fullmatch(name):
                yield Finding(path, line, f"<{name}> in a pure room")
        for number, code in enumerate(without_noise(text).split("\n"), 1):
            if (match := PURE_WORDS.search(code)) and not code.lstrip().startswith("#"):
                yield Finding(path, number, f"{match.group(0).strip()} in a pure room")


# What stands in the first column: clang-format indents nothing in a namespace, and all else.
SCOPE = re.compile(r"^(?:(?:inline )?namespace(?P<space> [a-z0-9_:]+)? \{|(?P<end>\}  // namespace))|"
                   r"^(?:class|struct|enum class|union) (?:SEMEL_\w+(?:\([^)]*\))? |\[\[\w+\]\] )*(?P<type>[A-Z]\w*)\b(?!::)[^;(]*\{", re.MULTILINE)


def twins(tree):
    """Two types of one name in one namespace are one to the linker, whichever files they are in."""
    seen = {}
    for path in tree.code("src", "include"):
        if is_test(path):
            continue
        # Comments stay: they close the namespaces.
        text, spaces = tree.text(path), []
        for match in SCOPE.finditer(text):
            if match["end"]:
                del spaces[-1:]
            elif not match["type"]:
                spaces.append((match["space"] or " (anonymous)").strip())
            elif "(anonymous)" not in spaces:
                name = "::".join([*spaces, match["type"]])
                first = seen.setdefault(name, path)
                if first != path:
                    yield Finding(path, text.count("\n", 0, match.start()) + 1,
                                  f"{name} is in {first} too: the linker would make them one")

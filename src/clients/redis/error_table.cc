#include "clients/redis/error_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace semel::redis {
namespace {

struct Row {
  std::string_view word;
  std::string_view text;  // part of the text that follows; empty: any text
  ErrorKind kind;
  const char* page;
  const char* what;
  const char* hint;
  bool ends_connection;
};

constexpr const char* kNoHint = "";
constexpr const char* kLogin = "check user and password in store.redis.url";
constexpr const char* kNoDatabases = "leave out the number, and give the store a prefix of its own";
constexpr const char* kMoving = "redis-cli --cluster check tells which slots are on their way";
constexpr const char* kRights =
    "semel explain rights lists the commands and keys that the user needs";
constexpr auto kAway = ErrorKind::kUnavailable;
constexpr auto kWrong = ErrorKind::kRejected;

// The first row that fits counts.
constexpr Row kRows[] = {
    {"LOADING", "", kAway, "R250", "is still loading its data", kNoHint, true},
    {"MASTERDOWN", "", kAway, "R250", "is a replica that has lost its master", kNoHint, true},
    {"CLUSTERDOWN", "", kAway, "R250", "says that its Cluster is down", kNoHint, true},
    {"TRYAGAIN", "", kAway, "R250", "is moving the keys to another node", kMoving, false},
    {"BUSY", "", kAway, "R266", "is busy with a script that does not end",
     "redis-cli SCRIPT KILL ends it, where it has written nothing", false},
    {"MISCONF", "", kAway, "R205", "cannot save, and takes no writes until it can",
     "look into the server's log: most often its disk is full", false},
    {"OOM", "", kAway, "R261", "has no memory left for more records",
     "raise the server's maxmemory, or let records go sooner by a shorter ttl", false},
    {"READONLY", "", kAway, "R203", "is a replica and takes no writes",
     "name the master in store.redis.url", true},
    {"NOREPLICAS", "", kAway, "R262", "has fewer replicas than min-replicas-to-write asks for",
     "start the missing replica, or lower min-replicas-to-write", false},
    {"NOPERM", "", kWrong, "R253", "does not let this user do that", kRights, false},
    {"ERR", "user executing the script can't run", kWrong, "R253", "does not let this user do that",
     kRights, false},
    {"NOAUTH", "", kAway, "R251", "asks for a password", kLogin, true},
    {"WRONGPASS", "", kAway, "R251", "refused the login", kLogin, true},
    {"ERR", "a newer Semel has written", kWrong, "R210", "holds what a newer Semel has written",
     "run the newer program, or use another prefix", false},
    {"ERR", "AUTH", kAway, "R251", "refused the login", kLogin, true},
    {"ERR", "invalid password", kAway, "R251", "refused the login", kLogin, true},
    {"DENIED", "", kAway, "R251", "is in protected mode and lets nobody in from here",
     "set a password on the server, or bind it to an address that only you reach", true},
    {"ERR", "max number of clients", kAway, "R254", "takes no more connections",
     "raise maxclients on the server, or run fewer processes", true},
    {"ERR", "DB index", kWrong, "R252", "has no database of that number",
     "name one below `databases` of the server's configuration in store.redis.url", true},
    {"ERR", "invalid DB index", kWrong, "R252", "has no database of that number",
     "name one below `databases` of the server's configuration in store.redis.url", true},
    {"ERR", "unknown command", kWrong, "R258", "does not know a command that Semel needs",
     "use Redis 6 or newer, with EVALSHA and EVAL not renamed", false},
    {"WRONGTYPE", "", kWrong, "R263", "has something of another program under the name of a record",
     "give Semel a prefix or a database number of its own", false},
    {"ERR", "SELECT is not allowed in cluster mode", kWrong, "R264",
     "is a node of a Cluster, which has database 0 alone", kNoDatabases, true},
    {"MOVED", "", kAway, "R250", "sends us on and on to other nodes of its Cluster", kMoving,
     false},
    {"ASK", "", kAway, "R250", "sends us on and on to other nodes of its Cluster", kMoving, false},
    {"NOSCRIPT", "", kAway, "R200", "does not know a script that it was just told", kNoHint, false},
    {"NOPROTO", "", kWrong, "R258", "does not speak this protocol", "use Redis 6 or newer", true},
};
constexpr Row kOther = {"", "", kAway, "R200", "answered with an error", kNoHint, false};

std::string_view first_word(std::string_view reply) noexcept {
  return reply.substr(0, std::min(reply.find(' '), reply.size()));
}

// Before version 7, the error of a script contains the refused command's error after the script's
// line.
std::string_view passed_on(std::string_view reply) noexcept {
  constexpr std::string_view kMark = ": -";
  const auto at = reply.find(kMark);
  if (first_word(reply) != "ERR" || reply.find("script") > at || at == std::string_view::npos) {
    return reply;
  }
  return reply.substr(at + kMark.size());
}

const Row& entry_of(std::string_view reply) noexcept {
  const std::string_view own = passed_on(reply);
  const std::string_view word = first_word(own);
  const auto* const row = std::ranges::find_if(kRows, [&](const Row& one) {
    return one.word == word && own.find(one.text) != std::string_view::npos;
  });
  return row == std::ranges::end(kRows) ? kOther : *row;
}

}  // namespace

Error error_of(std::string_view reply) {
  const Row& row = entry_of(reply);
  return {row.kind, row.page, fmt::format("the Redis server {} ({})", row.what, reply), row.hint};
}

std::string_view word_of(std::string_view reply) noexcept { return first_word(passed_on(reply)); }

bool ends_connection(std::string_view reply) noexcept { return entry_of(reply).ends_connection; }

}  // namespace semel::redis

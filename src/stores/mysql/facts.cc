#include "stores/mysql/facts.h"

namespace semel::mysql {
namespace {

// The server's guess is good enough where there are more than are worth counting.
constexpr std::int64_t kMany = 1'000'000;

}  // namespace

Facts::Facts(const sql::Dialect& dialect)
    : bytes_(dialect,
             "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) FROM "
             "information_schema.tables WHERE table_schema = DATABASE() AND table_type = "
             "'BASE TABLE' AND LEFT(table_name, 6) = 'semel_'"),
      about_(dialect,
             "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() "
             "AND table_name = 'semel_record'"),
      check_(dialect, "CHECK TABLE semel_record, semel_held, semel_inbox, semel_dead_letter") {}

std::size_t Facts::bytes(sql::Session& session) {
  sql::Answer answer = session.ask(bytes_, {});
  return answer.next() ? static_cast<std::size_t>(answer.integer(0)) : 0;
}

// Of all generations: it tells them apart only by counting.
std::optional<std::size_t> Facts::about_records(sql::Session& session, std::int64_t) {
  sql::Answer answer = session.ask(about_, {});
  if (!answer.next() || answer.null(0) || answer.integer(0) < kMany) return std::nullopt;
  return static_cast<std::size_t>(answer.integer(0));
}

std::vector<StoreFinding> Facts::verify(sql::Session& session, bool full) {
  std::vector<StoreFinding> findings;
  if (!full) return findings;
  // Table, operation, kind of word, word.
  sql::Answer answer = session.ask(check_, {});
  while (answer.next()) {
    const bool fine = answer.bytes(2) == "status" && answer.bytes(3) == "OK";
    if (!fine && answer.bytes(2) != "note") {
      findings.push_back({true, "table.damaged", answer.bytes(0), answer.bytes(3)});
    }
  }
  return findings;
}

}  // namespace semel::mysql

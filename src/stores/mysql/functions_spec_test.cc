// The procedures answer as the vectors of the wire contract say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stores/mysql/test_functions.h"
#include "stores/mysql/url.h"
#include "tests/support/spec_vectors.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;
using test::SpecVectors;

// The procedures' clock stands still, so that answered times are exact to the millisecond.
constexpr const char* kStillClock = "TIMESTAMP('2026-01-02 00:00:00.000000')";

class ProcedureSpec : public FunctionsTest {
 protected:
  ProcedureSpec() {
    Wire wire(target_of(url()));
    make_functions(wire, kStillClock);
  }

  // Stores this record as the only one of key `k`.
  void put(const std::optional<spi::Record>& record);
  // Returns that record, as test::spec_text formats it.
  std::string found();
  static std::string seconds(std::int64_t milliseconds) {
    return fmt::format("{} / 1000", milliseconds);
  }
  // In the words of the vectors: outcome, result, retry_after in seconds, reason.
  static std::string worded(const std::string& outcome, const std::string& result,
                            const std::string& after, const std::string& reason);
  std::string call_of(const SpecVectors& endings, const std::string& at) const;
};

void ProcedureSpec::put(const std::optional<spi::Record>& record) {
  client_.ask("DELETE FROM semel_record");
  client_.ask("DELETE FROM semel_open");
  if (!record) return;
  const auto time = [](StoreTime then) {
    if (then == StoreTime{}) return std::string("NULL");
    return fmt::format("{} + INTERVAL {} MICROSECOND", kStillClock,
                       (then - StoreTime(1h)).count() * 1000);
  };
  const bool completed = record->state == RecordState::kCompleted;
  client_.ask(fmt::format("CALL semel_internal_key_id({}, 'k', @id)",
                          static_cast<std::uint32_t>(consumer_)));
  client_.ask(fmt::format(
      "INSERT INTO semel_record (id, generation, state, fingerprint, changed_at, token, nonce, "
      "lease_until, attempt, outcome_unknown, next_at, first_seen, reason, error, result) "
      "VALUES (@id, 1, '{}', {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})",
      to_string(record->state), hex(record->fingerprint.view()), kStillClock,
      completed ? "NULL" : "7",
      record->state == RecordState::kConsuming ? hex(record->nonce) : "NULL",
      time(record->lease_until), completed ? "NULL" : std::to_string(record->attempt),
      completed ? "NULL" : fmt::to_string(record->outcome_unknown), time(record->next_at),
      completed ? "NULL" : kStillClock, completed ? "NULL" : hex(record->reason),
      completed ? "NULL" : hex(record->error),
      record->result.empty() ? "NULL" : hex(record->result)));
}

std::string ProcedureSpec::found() {
  const std::string found = client_.ask(fmt::format(
      "SELECT CONCAT(state, ' ', LOWER(HEX(fingerprint)), IF(state = 'completed', "
      "CONCAT(' result=', COALESCE(result, '')), CONCAT(' attempt=', attempt, "
      "' outcome_unknown=', IF(outcome_unknown, 'true', 'false'), ' reason=', "
      "COALESCE(reason, ''), ' error=', COALESCE(error, ''), CASE state WHEN 'consuming' THEN "
      "CONCAT(' lease_until=', TIMESTAMPDIFF(MICROSECOND, {0}, lease_until) DIV 1000, ' nonce=', "
      "LOWER(HEX(nonce))) WHEN 'retrying' THEN CONCAT(' next_at=', "
      "TIMESTAMPDIFF(MICROSECOND, {0}, next_at) DIV 1000) ELSE '' END))) FROM semel_record",
      kStillClock));
  return found.empty() ? "none" : found;
}

std::string ProcedureSpec::worded(const std::string& outcome, const std::string& result,
                                  const std::string& after, const std::string& reason) {
  if (outcome == "conflict") return outcome;
  if (outcome == "duplicate") return outcome + " " + result;
  if (outcome == "busy" || outcome == "retry") {
    constexpr double kMillis = 1000;
    return fmt::format("{} {:.0f}", outcome, std::stod(after) * kMillis);
  }
  return outcome + " " + reason;
}

std::string ProcedureSpec::call_of(const SpecVectors& endings, const std::string& at) const {
  const std::string end = at + "/end", call = endings.text(end + "/call");
  std::string rest;
  if (call == "renew") {
    rest = ", " + seconds(endings.number(end + "/lease"));
  } else if (call == "complete") {
    rest = ", " + text(endings.text(end + "/result"));
  } else if (call != "release") {
    rest = fmt::format(", {}, {}", text(endings.text(end + "/reason")),
                       text(endings.text(end + "/error")));
    if (call == "retry") rest = ", " + seconds(endings.number(end + "/after")) + rest;
  }
  return fmt::format("{}('payments', 'k', {}{})", call, hex(endings.nonce(end + "/nonce")), rest);
}

TEST_P(ProcedureSpec, KeysHaveTheirIds) {
  const SpecVectors keys("keys.json");
  for (const std::string& at : keys.each("/ids")) {
    // A key of the procedures is text.
    if (keys.has(at + "/key_base64")) continue;
    EXPECT_EQ(
        client_.ask(fmt::format("CALL semel_internal_key_id({}, {}, @id); SELECT LOWER(HEX(@id))",
                                keys.number(at + "/consumer"), text(*keys.content(at, "key")))),
        keys.text(at + "/id"))
        << at;
  }
  for (const std::string& at : keys.each("/refused")) {
    const auto key = keys.content(at, "key");
    EXPECT_EQ(client_
                  .refused(fmt::format("CALL semel_claim('payments', {}, NULL, NULL)",
                                       key ? text(*key) : "NULL"))
                  .state,
              "SM271")
        << at;
  }
}

TEST_P(ProcedureSpec, PayloadsHaveTheirFingerprints) {
  const SpecVectors prints("fingerprints.json");
  for (const std::string& at : prints.each("/fingerprints")) {
    const auto payload = prints.content(at, "payload");
    EXPECT_EQ(client_.ask(fmt::format(
                  "CALL semel_internal_arrived({}, NULL, @print); SELECT LOWER(HEX(@print))",
                  payload ? hex(*payload) : "NULL")),
              prints.text(at + "/fingerprint"))
        << at;
  }
  for (const std::string& at : prints.each("/same")) {
    spi::Record record;
    record.state = RecordState::kCompleted;
    record.fingerprint = prints.fingerprint(at + "/recorded");
    put(record);
    EXPECT_EQ(called(client_, fmt::format("claim('payments', 'k', NULL, {})",
                                          hex(prints.fingerprint(at + "/arrived").view()))),
              prints.truth(at + "/same") ? "duplicate" : "conflict")
        << at;
  }
}

TEST_P(ProcedureSpec, ClaimsAreAnswered) {
  const SpecVectors claims("claims.json");
  const StoreTime now(1h);
  for (const std::string& at : claims.each("/claims")) {
    SCOPED_TRACE(claims.text(at + "/name"));
    const auto record = claims.record(at + "/record", now);
    const std::string arrived = hex(claims.fingerprint(at + "/claim/fingerprint").view());
    const Nonce nonce = claims.nonce(at + "/claim/nonce");
    const std::string expected = claims.answer(at + "/answer");
    put(record);
    const auto begun =
        client_.rows(fmt::format("CALL semel_begin('payments', 'k', NULL, {}, {}, {})", arrived,
                                 seconds(claims.number(at + "/claim/lease")), hex(nonce)));
    const auto& row = begun.at(0);
    EXPECT_EQ(row.at(0) == "new"
                  ? fmt::format("new {}{}", row.at(3), row.at(4) == "1" ? " taken over" : "")
                  : worded(row.at(0), row.at(5), row.at(6), row.at(7)),
              expected);
    EXPECT_EQ(found(), test::spec_text(claims.record(at + "/after", now), now));
    // A claim in a transaction has no nonce by which it could be recognised.
    if (record && record->nonce == nonce) continue;
    put(record);
    const auto answered =
        client_.rows(fmt::format("CALL semel_claim('payments', 'k', NULL, {})", arrived));
    const auto& claimed = answered.at(0);
    if (expected.starts_with("new ")) {
      EXPECT_EQ(claimed.at(0), "new");
      EXPECT_TRUE(found().starts_with("completed ")) << found();
    } else {
      EXPECT_EQ(worded(claimed.at(0), claimed.at(2), claimed.at(3), claimed.at(4)), expected);
      EXPECT_EQ(found(), test::spec_text(record, now));
    }
  }
}

TEST_P(ProcedureSpec, LeasesEnd) {
  const SpecVectors endings("endings.json");
  const StoreTime now(1h);
  for (const std::string& at : endings.each("/endings")) {
    SCOPED_TRACE(endings.text(at + "/name"));
    put(endings.record(at + "/record", now));
    EXPECT_EQ(called(client_, call_of(endings, at)), endings.text(at + "/answer"));
    EXPECT_EQ(found(), test::spec_text(endings.record(at + "/after", now), now));
  }
}

TEST_P(ProcedureSpec, HeadersAreWritten) {
  const SpecVectors vectors("headers.json");
  for (const std::string& at : vectors.each("/headers")) {
    // The order of an object's members in the procedures; MySQL orders them in its own way.
    std::string members;
    if (at != "/headers/0") {
      for (const std::string& one : vectors.each(at + "/headers")) {
        members +=
            fmt::format("{}{}, {}", members.empty() ? "" : ", ", text(vectors.text(one + "/name")),
                        text(vectors.text(one + "/value")));
      }
    }
    EXPECT_EQ(client_.ask(fmt::format(
                  "CALL semel_internal_headers(JSON_OBJECT({}), @text); SELECT @text", members)),
              vectors.text(at + "/text"));
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureSpec, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql

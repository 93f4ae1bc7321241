// The SQL functions answer as the vectors of the wire contract say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "stores/postgres/test_functions.h"
#include "tests/support/spec_vectors.h"

namespace semel::postgres {
namespace {

using test::SpecVectors;

// The functions' clock stands still, so that answered times are exact to the millisecond.
constexpr const char* kStillClock = "timestamptz '2026-01-02 00:00:00+00'";
constexpr const char* kAnswer =
    "outcome || CASE outcome WHEN 'conflict' THEN '' "
    "WHEN 'duplicate' THEN ' ' || COALESCE(convert_from(result, 'UTF8'), '') "
    "WHEN 'busy' THEN ' ' || (extract(epoch FROM retry_after) * 1000)::bigint "
    "WHEN 'retry' THEN ' ' || (extract(epoch FROM retry_after) * 1000)::bigint ";

class FunctionsSpec : public FunctionsTest {
 protected:
  FunctionsSpec() { make_functions(client_.connection(), "semel", kStillClock); }

  // Stores this record as the only one of key `k`.
  void put(const std::optional<spi::Record>& record);
  // Returns that record, as test::spec_text formats it.
  std::string found();
  // The bytes as an SQL literal; NULL for nullopt.
  static std::string literal_of(const std::optional<Bytes>& content) {
    return content ? fmt::format("convert_from({}, 'UTF8')", bytes(*content)) : "NULL::text";
  }
  std::string call_of(const SpecVectors& endings, const std::string& at) const;
};

void FunctionsSpec::put(const std::optional<spi::Record>& record) {
  client_.ask("DELETE FROM semel.semel_record");
  if (!record) return;
  const auto time = [](StoreTime then) {
    if (then == StoreTime{}) return std::string("NULL");
    return fmt::format("{} + interval '{} milliseconds'", kStillClock,
                       (then - StoreTime(1h)).count());
  };
  const bool completed = record->state == RecordState::kCompleted;
  client_.ask(fmt::format(
      "INSERT INTO semel.semel_record (id, generation, state, fingerprint, changed_at, token, "
      "nonce, lease_until, attempt, outcome_unknown, next_at, first_seen, reason, error, result) "
      "VALUES (semel.semel_key_id({}, 'k'), 1, '{}', {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
      "{})",
      static_cast<std::uint32_t>(consumer_), to_string(record->state),
      bytes(record->fingerprint.view()), kStillClock, completed ? "NULL" : "7",
      record->state == RecordState::kConsuming ? bytes(sql::Param(record->nonce).bytes()) : "NULL",
      time(record->lease_until), completed ? "NULL" : std::to_string(record->attempt),
      completed ? "NULL" : fmt::to_string(record->outcome_unknown), time(record->next_at),
      completed ? "NULL" : kStillClock, completed ? "NULL" : bytes(record->reason),
      completed ? "NULL" : bytes(record->error),
      record->result.empty() ? "NULL" : bytes(record->result)));
}

std::string FunctionsSpec::found() {
  const std::string found = client_.ask(fmt::format(
      "SELECT state || ' ' || encode(fingerprint, 'hex') || CASE state WHEN 'completed' THEN "
      "' result=' || COALESCE(convert_from(result, 'UTF8'), '') ELSE ' attempt=' || attempt || "
      "' outcome_unknown=' || outcome_unknown || ' reason=' || "
      "COALESCE(convert_from(reason, 'UTF8'), '') || ' error=' || "
      "COALESCE(convert_from(error, 'UTF8'), '') || CASE state WHEN 'consuming' THEN "
      "' lease_until=' || (extract(epoch FROM lease_until - {0}) * 1000)::bigint || ' nonce=' || "
      "encode(nonce, 'hex') WHEN 'retrying' THEN ' next_at=' || "
      "(extract(epoch FROM next_at - {0}) * 1000)::bigint ELSE '' END END "
      "FROM semel.semel_record",
      kStillClock));
  return found.empty() ? "none" : found;
}

std::string FunctionsSpec::call_of(const SpecVectors& endings, const std::string& at) const {
  const std::string end = at + "/end", call = endings.text(end + "/call");
  std::string rest;
  if (call == "renew") {
    rest = fmt::format(", interval '{} milliseconds'", endings.number(end + "/lease"));
  } else if (call == "complete") {
    rest = fmt::format(", '{}'", endings.text(end + "/result"));
  } else if (call != "release") {
    rest = fmt::format(", reason => '{}', error => '{}'", endings.text(end + "/reason"),
                       endings.text(end + "/error"));
    if (call == "retry") {
      rest = fmt::format(", '{} milliseconds'", endings.number(end + "/after")) + rest;
    }
  }
  return fmt::format("{}('payments', 'k', {}{})", call,
                     bytes(sql::Param(endings.nonce(end + "/nonce")).bytes()), rest);
}

TEST_F(FunctionsSpec, KeysHaveTheirIds) {
  const SpecVectors keys("keys.json");
  for (const std::string& at : keys.each("/ids")) {
    // A key of the functions is text.
    if (keys.has(at + "/key_base64")) continue;
    EXPECT_EQ(client_.ask(fmt::format("SELECT encode(semel.semel_key_id({}, {}), 'hex')",
                                      keys.number(at + "/consumer"),
                                      literal_of(keys.content(at, "key")))),
              keys.text(at + "/id"))
        << at;
  }
  for (const std::string& at : keys.each("/refused")) {
    EXPECT_EQ(client_
                  .refused(fmt::format("SELECT semel.claim('payments', {})",
                                       literal_of(keys.content(at, "key"))))
                  .state,
              "SM271")
        << at;
  }
}

TEST_F(FunctionsSpec, PayloadsHaveTheirFingerprints) {
  const SpecVectors prints("fingerprints.json");
  for (const std::string& at : prints.each("/fingerprints")) {
    const auto payload = prints.content(at, "payload");
    const std::string content = payload ? bytes(*payload) : "NULL::bytea";
    EXPECT_EQ(
        client_.ask(fmt::format("SELECT encode(semel.semel_arrived({}, NULL), 'hex')", content)),
        prints.text(at + "/fingerprint"))
        << at;
    if (!prints.has(at + "/payload")) continue;
    EXPECT_EQ(client_.ask(
                  fmt::format("SELECT encode(semel.fingerprint({}), 'hex')", literal_of(payload))),
              prints.text(at + "/fingerprint"))
        << at;
  }
  for (const std::string& at : prints.each("/same")) {
    spi::Record record;
    record.state = RecordState::kCompleted;
    record.fingerprint = prints.fingerprint(at + "/recorded");
    put(record);
    EXPECT_EQ(client_.ask(
                  fmt::format("SELECT outcome FROM semel.claim('payments', 'k', fingerprint => {})",
                              bytes(prints.fingerprint(at + "/arrived").view()))),
              prints.truth(at + "/same") ? "duplicate" : "conflict")
        << at;
  }
}

TEST_F(FunctionsSpec, ClaimsAreAnswered) {
  const SpecVectors claims("claims.json");
  const StoreTime now(1h);
  for (const std::string& at : claims.each("/claims")) {
    SCOPED_TRACE(claims.text(at + "/name"));
    const auto record = claims.record(at + "/record", now);
    const std::string arrived = bytes(claims.fingerprint(at + "/claim/fingerprint").view());
    const Nonce nonce = claims.nonce(at + "/claim/nonce");
    const std::string expected = claims.answer(at + "/answer");
    put(record);
    EXPECT_EQ(client_.ask(fmt::format(
                  "SELECT {} WHEN 'new' THEN ' ' || attempt || CASE WHEN taken_over THEN ' taken "
                  "over' ELSE '' END ELSE ' ' || reason END FROM semel.begin('payments', 'k', "
                  "lease => '{} milliseconds', fingerprint => {}, own_nonce => {})",
                  kAnswer, claims.number(at + "/claim/lease"), arrived,
                  bytes(sql::Param(nonce).bytes()))),
              expected);
    EXPECT_EQ(found(), test::spec_text(claims.record(at + "/after", now), now));
    // A claim in a transaction has no nonce by which it could be recognised.
    if (record && record->nonce == nonce) continue;
    put(record);
    const std::string answered =
        client_.ask(fmt::format("SELECT {} WHEN 'new' THEN '' ELSE ' ' || reason END FROM "
                                "semel.claim('payments', 'k', fingerprint => {})",
                                kAnswer, arrived));
    if (expected.starts_with("new ")) {
      EXPECT_EQ(answered, "new");
      EXPECT_TRUE(found().starts_with("completed ")) << found();
    } else {
      EXPECT_EQ(answered, expected);
      EXPECT_EQ(found(), test::spec_text(record, now));
    }
  }
}

TEST_F(FunctionsSpec, LeasesEnd) {
  const SpecVectors endings("endings.json");
  const StoreTime now(1h);
  for (const std::string& at : endings.each("/endings")) {
    SCOPED_TRACE(endings.text(at + "/name"));
    put(endings.record(at + "/record", now));
    EXPECT_EQ(called(client_, call_of(endings, at)), endings.text(at + "/answer"));
    EXPECT_EQ(found(), test::spec_text(endings.record(at + "/after", now), now));
  }
}

TEST_F(FunctionsSpec, HeadersAreWritten) {
  const SpecVectors vectors("headers.json");
  for (const std::string& at : vectors.each("/headers")) {
    // The functions take an object; jsonb orders its members in its own way.
    std::string members;
    if (at != "/headers/0") {
      for (const std::string& one : vectors.each(at + "/headers")) {
        if (!members.empty()) members += ", ";
        members +=
            fmt::format("'{}', '{}'", vectors.text(one + "/name"), vectors.text(one + "/value"));
      }
    }
    EXPECT_EQ(
        client_.ask(fmt::format(
            "SELECT convert_from(semel.semel_headers(jsonb_build_object({})), 'UTF8')", members)),
        vectors.text(at + "/text"));
  }
}

}  // namespace
}  // namespace semel::postgres

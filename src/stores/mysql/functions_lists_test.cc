// Lists of keys that are claimed by one call, with elements of every kind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/key_encoding.h"
#include "stores/mysql/test_functions.h"

namespace semel::mysql {
namespace {

class ProcedureLists : public FunctionsTest {
 protected:
  // The outcomes, in the order given; the lists are JSON.
  std::string outcomes(const std::string& keys, const std::string& payloads = "",
                       const std::string& prints = "") {
    return outcomes_of(client_, keys, payloads, prints);
  }
  static std::string outcomes_of(ClientSession& session, const std::string& keys,
                                 const std::string& payloads = "", const std::string& prints = "") {
    std::string all;
    for (const auto& row : session.rows(fmt::format("CALL semel_claim_many('payments', {}, {}, {})",
                                                    text(keys), given(payloads), given(prints)))) {
      all += (all.empty() ? "" : " ") + row.at(2);
    }
    return all;
  }
  std::string records() const { return sql("SELECT COUNT(*) FROM semel_record"); }

 private:
  static std::string given(const std::string& list) { return list.empty() ? "NULL" : text(list); }
};

// Its first copy that can be claimed makes the record, wherever it is.
TEST_P(ProcedureLists, AnInvalidCopyOfAKeyTakesNothingFromTheOthers) {
  EXPECT_EQ(outcomes(R"(["a", "a"])", "", R"(["zz", null])"), "invalid new");
  EXPECT_EQ(records(), "1");
  EXPECT_EQ(outcomes(R"(["a", "a"])", "", R"(["zz", null])"), "invalid duplicate");
  const std::string print = "00112233445566778899aabbccddeeff";
  EXPECT_EQ(outcomes(R"(["b", "c", "b", "b"])", R"(["1", "1", "1", "1"])",
                     fmt::format(R"(["{}", null, null, null])", print)),
            "invalid new new duplicate");
  EXPECT_EQ(records(), "3");
}

TEST_P(ProcedureLists, AnInvalidCopyTakesNothingWhereAnotherKeyIsHeld) {
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "held"), "new");
  ClientSession other(url());
  other.ask("SET innodb_lock_wait_timeout = 1");
  EXPECT_EQ(outcomes_of(other, R"(["a", "held", "a"])", "", R"(["zz", null, null])"),
            "invalid busy new");
  client_.ask("ROLLBACK");
  EXPECT_EQ(outcomes(R"(["a", "held"])"), "duplicate new");
}

// The first copy was busy, and the transaction that had the key was rolled back meanwhile: a
// duplicate would be acknowledged, and the copy that was left would become one as well.
TEST_P(ProcedureLists, ALaterCopyOfABusyKeyMakesNoRecord) {
  const std::string id = hex(core::encode_key(consumer_, "k").view());
  EXPECT_EQ(client_.ask(fmt::format(
                "START TRANSACTION; CALL semel_internal_claim_among({}, REPEAT('p', 16), 1, "
                "RANDOM_BYTES(16), FALSE, @outcome, @kept, @wait, @why); COMMIT",
                id)),
            "");
  EXPECT_EQ(client_.ask("SELECT @outcome"), "busy");
  EXPECT_EQ(records(), "0");
}

// The length of a key is a part of its id, as bytes of which most are no text.
TEST_P(ProcedureLists, KeysOfAnyLengthHaveTheIdsOfTheLibrary) {
  for (const std::size_t length : {1, 35, 127, 128, 200, 255, 256, 384, 4096}) {
    const std::string key(length, 'z');
    EXPECT_EQ(outcomes(fmt::format(R"(["{}"])", key)), "new") << length;
    const std::string id = hex(core::encode_key(consumer_, key).view());
    EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record WHERE id = " + id), "1") << length;
  }
}

// Payloads that cannot be compared would be duplicates of each other.
TEST_P(ProcedureLists, WhatIsNoTextIsInvalidAndNotLeftOut) {
  EXPECT_EQ(outcomes(R"(["a", "b", "c", "d", "e", "f"])",
                     R"([{"amount": 5}, [5], 5, true, "{\"amount\": 5}", null])"),
            "invalid invalid invalid invalid new new");
  EXPECT_EQ(outcomes(R"(["e", "e", "e"])", R"([ {"amount":7} , "{\"amount\": 5}", "7" ])"),
            "invalid duplicate conflict");
  EXPECT_EQ(outcomes(R"(["g", "h", "i"])", "", R"([5, {"a": "b"}, null])"), "invalid invalid new");
  EXPECT_EQ(outcomes(R"([ 123456789012345678901234567890, 123456789012345678901234567891, 1.0, 1e2,
                         true, null, {"a": 1}, ["a"], "5", "true", "null", "\"q\"", " [5]" ])"),
            "invalid invalid invalid invalid invalid invalid invalid invalid new new new new new");
  EXPECT_EQ(records(), "8");
  EXPECT_EQ(claimed(client_, "\"q\""), "conflict") << "the same key, claimed without a payload";
}

TEST_P(ProcedureLists, AFingerprintHasNothingBesideItsDigits) {
  const std::string print = "00112233445566778899aabbccddeeff";
  for (const char* const more : {R"(\n)", R"(\r\n)", R"(\n\n)", " ", "0", "00", "zz"}) {
    EXPECT_EQ(outcomes(R"(["k", "neighbour"])", "", fmt::format(R"(["{}{}", null])", print, more))
                  .substr(0, 8),
              "invalid ")
        << more;
    EXPECT_EQ(outcomes(R"(["k"])", "", fmt::format(R"(["{}{}"])", more, print)), "invalid") << more;
  }
  EXPECT_EQ(outcomes(R"(["k"])", "", fmt::format(R"(["{}"])", print)), "new");
  EXPECT_EQ(records(), "2");
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureLists, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql

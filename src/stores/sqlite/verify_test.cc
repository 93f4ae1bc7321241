// store verify: planted faults are found, and an intact store has no findings.
#include <algorithm>
#include <fstream>

#include "core/key_encoding.h"
#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

class VerifyTest : public SqliteTest {
 protected:
  VerifyTest() { generation_rows_ = 20; }
  void fill() {
    const auto store = open();
    const ConsumerNumber consumer = attach(*store);
    complete(*store, test::make_messages(consumer, "a", 20));
    complete(*store, test::make_messages(consumer, "b", 20));
    complete(*store, test::make_messages(consumer, "c", 5));
    const Message m = test::make_message(consumer, "waits", "payload");
    Finish retry;
    retry.to = Finish::To::kRetrying;
    retry.lease = acquire(*store, m);
    retry.keep = &m;
    retry.delay = 1h;
    ASSERT_EQ(store->finish({&retry, 1}).value().front(), Applied::kYes);
  }
  std::vector<StoreFinding> verify(bool full = true) {
    return open()->facets().records->verify(full).value();
  }
  // The findings, as "what where".
  std::vector<std::string> wrong(bool full = true) {
    std::vector<std::string> said;
    for (const StoreFinding& finding : verify(full)) {
      EXPECT_FALSE(finding.detail.empty()) << finding.what;
      if (finding.wrong) said.push_back(finding.what + " " + finding.where);
    }
    return said;
  }
  using Said = std::vector<std::string>;
};

TEST_F(VerifyTest, AHealthyStoreHasNothingToSay) {
  fill();
  EXPECT_EQ(wrong(), Said{});
  EXPECT_EQ(wrong(false), Said{});
}

TEST_F(VerifyTest, AHeldPayloadThatIsGoneIsFound) {
  fill();
  sql("DELETE FROM semel_held");
  EXPECT_EQ(wrong(false), Said{"record.held_missing semel_live waits"});
}

TEST_F(VerifyTest, AKeyInTwoPlacesIsFound) {
  fill();
  sql("INSERT INTO semel_completed_1 SELECT id, fingerprint, 1, NULL, NULL FROM semel_live");
  EXPECT_EQ(wrong(false), Said{"record.twice semel_live waits"});
}

TEST_F(VerifyTest, TwoFingerprintsOfACompletedKeyAreFoundByAFullLook) {
  fill();
  sql("INSERT INTO semel_completed_2 SELECT id, zeroblob(16), completed_at, NULL, NULL "
      "FROM semel_completed_1 LIMIT 1");
  EXPECT_EQ(wrong(false), Said{});
  const auto said = wrong(true);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("record.contradicted semel_completed_")) << said[0];
}

TEST_F(VerifyTest, PayloadsAndResultsThatNobodyHasAreFound) {
  fill();
  sql("INSERT INTO semel_held (consumer, due_at, ready_at, enqueued_at, suspect, attempts) "
      "VALUES (1, 9223372036854775807, 1, 1, 0, 0)");
  sql("UPDATE semel_completed_1 SET result = 4711 WHERE id = (SELECT min(id) FROM "
      "semel_completed_1)");
  sql("UPDATE semel_live SET inbox = 4712");
  const auto said = wrong(true);
  EXPECT_EQ(said.size(), 3U);
  const auto says = [&](std::string_view begin) {
    return std::ranges::any_of(said, [&](const std::string& s) { return s.starts_with(begin); });
  };
  EXPECT_TRUE(says("held.lost semel_held "));
  EXPECT_TRUE(says("record.result_missing semel_completed_1 "));
  EXPECT_TRUE(says("record.inbox_missing semel_live waits"));
}

TEST_F(VerifyTest, ARowOfTwoRecordsAndOneWhoseInboxRowIsGoneAreFound) {
  fill();
  sql("INSERT INTO semel_live SELECT zeroblob(20), state, fingerprint, token, nonce, lease_until, "
      "attempt, outcome_unknown, next_at, first_seen, changed_at, holder, held, inbox, 'twin', "
      "reason, error, steps FROM semel_live");
  sql("UPDATE semel_held SET inbox = 4711");
  const auto said = wrong(false);
  const auto says = [&](std::string_view begin) {
    return std::ranges::any_of(said, [&](const std::string& s) { return s.starts_with(begin); });
  };
  EXPECT_TRUE(says("record.held_shared semel_held "));
  EXPECT_TRUE(says("held.inbox_missing semel_held "));
}

TEST_F(VerifyTest, TwoRowsInOnePlaceOfALineAreFound) {
  fill();
  sql("UPDATE semel_held SET line = 'a', place = 1, line_bytes = 7");
  for (int i = 0; i < 2; ++i) {
    sql("INSERT INTO semel_held (consumer, due_at, ready_at, enqueued_at, suspect, attempts, line, "
        "place, line_bytes) VALUES (1, 1, 1, 1, 0, 0, 'a', 2, 9)");
  }
  const auto said = wrong(false);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("held.place_twice semel_held ")) << said[0];
}

TEST_F(VerifyTest, TablesThatAreMissingOrUnknownAreFound) {
  fill();
  sql("CREATE TABLE semel_completed_99 (id BLOB PRIMARY KEY)");
  sql("CREATE TABLE semel_of_mine (n)");
  sql("DROP TABLE semel_crash");
  EXPECT_EQ(wrong(false), (Said{"table.missing semel_crash", "table.unknown semel_completed_99"}));
  const auto findings = verify(false);
  EXPECT_TRUE(std::ranges::any_of(
      findings, [](const StoreFinding& f) { return !f.wrong && f.where == "semel_of_mine"; }));
}

TEST_F(VerifyTest, RowsOfNobodyAreFound) {
  fill();
  sql("UPDATE semel_held SET consumer = 77");
  EXPECT_EQ(wrong(false), Said{"consumer.unknown semel_held"});
}

TEST_F(VerifyTest, ACountThatIsNotExactIsNoHarm) {
  fill();
  sql("UPDATE semel_generation SET rows = 3 WHERE state = 'sealed'");
  EXPECT_EQ(wrong(false), Said{});
  EXPECT_TRUE(std::ranges::any_of(verify(false), [](const StoreFinding& f) {
    return f.what == "generation.count" && f.detail.find("3 were counted") != std::string::npos;
  }));
}

TEST_F(VerifyTest, ManyOfOneKindAreCounted) {
  fill();
  sql("UPDATE semel_completed_1 SET result = 4711");
  const auto findings = verify(true);
  EXPECT_EQ(findings.size(), 11U);
  EXPECT_NE(findings.back().detail.find("20 rows in all"), std::string::npos)
      << findings.back().detail;
}

TEST_F(VerifyTest, ADamagedPageIsFound) {
  fill();
  sql("PRAGMA wal_checkpoint(TRUNCATE)");
  const int page =
      std::stoi(one("SELECT rootpage FROM sqlite_master WHERE name = "
                    "'semel_completed_1'"));
  const int size = std::stoi(one("PRAGMA page_size"));
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(page - 1) * size + 3);
  file.write("\xff\xff\xff\xff", 4);
  file.close();
  const auto store = open();
  const auto found = store->facets().records->verify(true);
  if (found) {
    EXPECT_TRUE(std::ranges::any_of(
        *found, [](const StoreFinding& f) { return f.what == "file.damaged"; }));
  } else {
    EXPECT_EQ(found.error().code, "R202") << "where a table cannot be read at all";
  }
}

TEST_F(VerifyTest, ItLooksBesideAWriterAndWritesNothing) {
  fill();
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  const auto unit = store->facets().transactional->begin({});
  ASSERT_TRUE(unit);
  EXPECT_EQ(wrong(), Said{}) << "nobody waits for the writer";
  EXPECT_EQ(store->facets().records->consumer("payments").value(), consumer);
}

}  // namespace
}  // namespace semel::sqlite

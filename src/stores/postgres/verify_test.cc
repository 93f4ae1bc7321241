// store verify on a server: planted faults are found, and an intact store has no findings.
#include <algorithm>

#include "stores/postgres/test_place.h"

namespace semel::postgres {
namespace {

using Said = std::vector<std::string>;

class PostgresVerifyTest : public PostgresTest {
 protected:
  // A completed key, a dead one, one that waits for its retry, and one that waits for a person.
  void fill() {
    const ConsumerNumber consumer = attach(*store_);
    finish(*store_, test::completed(acquire(*store_, test::make_message(consumer, "done"))));
    const Message dead = test::make_message(consumer, "dead");
    finish(*store_, test::dead(acquire(*store_, dead), &dead));
    for (const auto& [key, to] :
         {std::pair("waits", Finish::To::kRetrying), std::pair("parked", Finish::To::kParked)}) {
      const Message m = test::make_message(consumer, key);
      Finish keep;
      keep.to = to;
      keep.lease = acquire(*store_, m);
      keep.keep = &m;
      keep.delay = 1h;
      finish(*store_, keep);
    }
  }
  // The findings, as "what where".
  Said wrong(bool full = true) {
    Said said;
    const auto findings = store_->facets().records->verify(full).value();
    for (const StoreFinding& finding : findings) {
      EXPECT_FALSE(finding.detail.empty()) << finding.what;
      if (finding.wrong) said.push_back(finding.what + " " + finding.where);
    }
    return said;
  }
  void second_generation() {
    sql("CREATE TABLE semel.semel_record_77 PARTITION OF semel.semel_record FOR VALUES IN (77)");
    sql("INSERT INTO semel.semel_generation (number, state, created_at) "
        "VALUES (77, 'sealed', now())");
  }

  std::unique_ptr<Store> store_ = open();
};

TEST_F(PostgresVerifyTest, AHealthyStoreHasNothingToSay) {
  fill();
  EXPECT_EQ(wrong(), Said{});
  EXPECT_EQ(wrong(false), Said{});
}

TEST_F(PostgresVerifyTest, PayloadsThatAreGoneAreFound) {
  fill();
  sql("DELETE FROM semel.semel_held");
  EXPECT_EQ(wrong(false), (Said{"record.held_missing semel_record waits",
                                "record.held_missing semel_record parked"}));
}

TEST_F(PostgresVerifyTest, PayloadsThatNobodyHasAreFound) {
  fill();
  sql("DELETE FROM semel.semel_record WHERE state = 'parked'");
  const Said said = wrong(false);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("held.lost semel_held ")) << said[0];
}

TEST_F(PostgresVerifyTest, OnePayloadOfTwoRecordsIsFound) {
  fill();
  sql("UPDATE semel.semel_record SET held = (SELECT min(held) FROM semel.semel_record) "
      "WHERE state = 'parked'");
  const Said said = wrong(false);
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& one) {
    return one.starts_with("record.held_shared semel_held ");
  }));
}

TEST_F(PostgresVerifyTest, AKeyInTwoGenerationsIsFound) {
  fill();
  second_generation();
  sql("INSERT INTO semel.semel_record (id, generation, state, fingerprint, changed_at) "
      "SELECT id, 77, 'completed', fingerprint, changed_at FROM semel.semel_record "
      "WHERE state = 'retrying'");
  EXPECT_EQ(wrong(false), Said{"record.twice semel_record waits"});
  sql("UPDATE semel.semel_record SET id = (SELECT id FROM semel.semel_record WHERE "
      "state = 'completed' AND generation <> 77) WHERE generation = 77");
  EXPECT_EQ(wrong(false), Said{}) << "two completed ones: told by a full look";
  const Said said = wrong();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("record.twice semel_record ")) << said[0];
}

TEST_F(PostgresVerifyTest, RecordsOfNoGenerationAreFound) {
  fill();
  sql("DELETE FROM semel.semel_generation");
  const Said said = wrong();
  EXPECT_EQ(std::ranges::count_if(said,
                                  [](const std::string& one) {
                                    return one.starts_with("generation.unknown semel_record ");
                                  }),
            4);
}

TEST_F(PostgresVerifyTest, MessagesThatAreNotInTheInboxAreFound) {
  fill();
  sql("UPDATE semel.semel_record SET inbox = 4711 WHERE state IN ('completed', 'dead')");
  sql("UPDATE semel.semel_held SET inbox = 4711 WHERE row_id = "
      "(SELECT min(row_id) FROM semel.semel_held)");
  EXPECT_EQ(wrong(false).size(), 2U);
  const Said said = wrong();
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0], "record.inbox_missing semel_record dead");
  EXPECT_TRUE(said[1].starts_with("held.inbox_missing semel_held ")) << said[1];
  EXPECT_TRUE(said[2].starts_with("record.inbox_missing semel_record ")) << said[2];
}

TEST_F(PostgresVerifyTest, RowsOfNobodyAreFound) {
  fill();
  sql("DELETE FROM semel.semel_consumer");
  EXPECT_EQ(wrong(false), (Said{"consumer.unknown semel_record", "consumer.unknown semel_record",
                                "consumer.unknown semel_record", "consumer.unknown semel_held",
                                "consumer.unknown semel_dead_letter"}))
      << "records are told by state";
}

TEST_F(PostgresVerifyTest, ALineThatStandsStillOrTwiceInOnePlaceIsFound) {
  const auto number = static_cast<std::uint32_t>(attach(*store_));
  const auto row = [&](int id, int place, const std::string& due) {
    sql("INSERT INTO semel.semel_held (row_id, consumer, due_at, ready_at, enqueued_at, suspect, "
        "attempts, line, place) VALUES (" +
        std::to_string(id) + ", " + std::to_string(number) + ", '" + due +
        "', now(), now(), false, 0, 'a', " + std::to_string(place) + ")");
  };
  row(1, 1, "9999-12-30 00:00:00+00");
  EXPECT_EQ(wrong(false), Said{"held.stuck semel_held 1"});
  row(2, 0, "2000-01-01 00:00:00+00");
  EXPECT_EQ(wrong(false), Said{});
  row(3, 1, "9999-12-30 00:00:00+00");
  EXPECT_EQ(wrong(false), Said{"held.place_twice semel_held 3"});
}

TEST_F(PostgresVerifyTest, ManyOfOneKindAreCounted) {
  attach(*store_);
  sql("INSERT INTO semel.semel_held (row_id, consumer, due_at, ready_at, enqueued_at, suspect, "
      "attempts) SELECT n, number, '9999-12-31 00:00:00+00', now(), now(), false, 0 "
      "FROM generate_series(1, 20) AS n, semel.semel_consumer");
  const auto findings = store_->facets().records->verify(true).value();
  EXPECT_EQ(findings.size(), 11U);
  EXPECT_NE(findings.back().detail.find("20 rows in all"), std::string::npos)
      << findings.back().detail;
}

}  // namespace
}  // namespace semel::postgres

// Tables of an earlier version are brought up to date with their rows.
#include <gtest/gtest.h>

#include <semel/admin/audit.h>

#include "stores/postgres/schema.h"
#include "stores/postgres/test_live_place.h"

namespace semel::postgres {
namespace {

class PostgresMigration : public LiveTest {
 protected:
  // As the version before the audit log left them.
  void undo_audit_log() const {
    sql("DROP TABLE semel.semel_audit");
    sql("UPDATE semel.semel_schema SET version = 2");
  }
};

TEST_F(PostgresMigration, AStoreWithoutAnAuditLogGetsOne) {
  {
    const auto store = open();
    const auto messages = test::make_messages(attach(*store), "m-", 1);
    const Finish done = test::completed(std::get<Acquired>(claim(*store, messages[0])).lease);
    ASSERT_EQ(store->finish({&done, 1})->front(), Applied::kYes);
  }
  undo_audit_log();
  const auto again = open();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(sql("SELECT version FROM semel.semel_schema"), std::to_string(newest_version()));
  const auto messages = test::make_messages(attach(*again), "m-", 1);
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(*again, messages[0])));
  AuditEntry entry;
  entry.who = "night_shift";
  ASSERT_TRUE(again->facets().audit->append(Nonce{}, entry).has_value());
  EXPECT_EQ(again->facets().audit->list({}, 10)->size(), 1U);
  EXPECT_EQ(sql("SELECT convert_from(who, 'UTF8') FROM semel.semel_audit"), "night_shift");
}

}  // namespace
}  // namespace semel::postgres

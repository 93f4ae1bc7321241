// AuditLog: the acts of people through the admin API.
#include <semel/admin/audit.h>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

Nonce request_of(unsigned char number) {
  Nonce request;
  request.bytes[0] = number;
  request.bytes[15] = 0xFF;
  return request;
}

AuditEntry entry_about(const std::string& target) {
  AuditEntry entry;
  entry.who = "night_shift";
  entry.action = "records.forget";
  entry.target = target;
  entry.reason = "ticket 7";
  return entry;
}

TEST_P(AuditSuite, AnEntryIsThereBeforeTheActAndToldHowItEnded) {
  const auto id = audit().append(request_of(1), entry_about(std::string("a\0'\"\xff", 5)));
  ASSERT_TRUE(id) << id.error().message;
  auto entries = audit().list(std::nullopt, 10);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 1U);
  const AuditEntry begun = entries->front();
  EXPECT_EQ(begun.id, *id);
  EXPECT_EQ(begun.who, "night_shift");
  EXPECT_EQ(begun.action, "records.forget");
  EXPECT_EQ(begun.target, std::string("a\0'\"\xff", 5));
  EXPECT_EQ(begun.reason, "ticket 7");
  EXPECT_FALSE(begun.outcome);
  ASSERT_TRUE(audit().end(*id, "forgotten").has_value());
  ASSERT_TRUE(audit().end(*id, "another word").has_value());
  entries = audit().list(std::nullopt, 10);
  EXPECT_EQ(entries->front().outcome, "forgotten") << "the first word counts";
  EXPECT_EQ(entries->front().at, begun.at);
  ASSERT_TRUE(audit().end(*id + 100, "of none").has_value());
  EXPECT_EQ(audit().list(std::nullopt, 10)->size(), 1U);
}

TEST_P(AuditSuite, ARequestThatIsSaidAgainAddsNothing) {
  const auto first = audit().append(request_of(1), entry_about("a")).value();
  EXPECT_EQ(audit().append(request_of(1), entry_about("a")).value(), first);
  EXPECT_GT(audit().append(request_of(2), entry_about("a")).value(), first);
  EXPECT_EQ(audit().list(std::nullopt, 10)->size(), 2U);
}

TEST_P(AuditSuite, TheNewestComeFirstPageByPage) {
  for (unsigned char i = 1; i <= 5; ++i) {
    ASSERT_TRUE(audit().append(request_of(i), entry_about(std::to_string(i))).has_value());
    advance(1s);
  }
  std::string targets;
  std::optional<StoreTime> last;
  std::optional<std::int64_t> before;
  for (auto page = audit().list(before, 2).value(); !page.empty();
       page = audit().list(before, 2).value()) {
    EXPECT_LE(page.size(), 2U);
    for (const AuditEntry& entry : page) {
      targets += entry.target;
      if (last) {
        EXPECT_LE(entry.at, *last);
      }
      last = entry.at;
    }
    before = page.back().id;
  }
  EXPECT_EQ(targets, "54321");
}

TEST_P(AuditSuite, ItOutlivesTheStoreWhereTheStoreIsDurable) {
  ASSERT_TRUE(audit().append(request_of(1), entry_about("a")).has_value());
  reopen();
  EXPECT_EQ(audit().list(std::nullopt, 10)->size(), 1U);
}

}  // namespace
}  // namespace semel::conformance

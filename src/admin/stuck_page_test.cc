#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <semel/reason.h>

#include "admin/faceted_store.h"
#include "admin/test_api.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

class StuckPageTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }
  std::string page(const std::string& path = "/stuck") const {
    return get_as(Role::kRead, path).body;
  }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }
};

TEST_F(StuckPageTest, WithoutAnyItSaysWhatTheyWouldBe) {
  EXPECT_TRUE(shows(page(), "Nothing waits for a person")) << page();
  finish("one", Finish::To::kDead, "handler.native");
  finish("two", Finish::To::kCompleted);
  EXPECT_TRUE(shows(page(), "Nothing waits for a person")) << "those are elsewhere";
}

TEST_F(StuckPageTest, ParkedRecordsSayWhatTheyWaitFor) {
  finish("plain", Finish::To::kParked, "operator");
  finish("doubt", Finish::To::kParked, std::string(reason::kOutcomeUnknown));
  const std::string seen = page("/stuck?consumer=payments");
  EXPECT_TRUE(shows(seen, "<a href=\"record?consumer=payments&amp;key=plain\">plain</a>")) << seen;
  EXPECT_TRUE(shows(seen, "waits to be unlocked"));
  EXPECT_TRUE(shows(seen, "its effect may have happened: somebody must say"));
  EXPECT_TRUE(shows(seen, "<span class=\"about\">outcome.unknown: it went wrong</span>"));
}

TEST_F(StuckPageTest, ALeaseThatEndedIsStuckAndOneThatLastsIsNot) {
  const Message lasting = message("lasting"), over = message("over");
  const Message* one = &lasting;
  ASSERT_TRUE(store_->claim({&one, 1}, {}));
  one = &over;
  ClaimOptions options;
  options.lease = std::chrono::milliseconds(1);
  ASSERT_TRUE(store_->claim({&one, 1}, options));
  ASSERT_TRUE(test::comes_true([&] { return shows(page(), ">over</a>"); })) << page();
  EXPECT_TRUE(shows(page(), "lease over"));
  EXPECT_FALSE(shows(page(), ">lasting</a>"));
}

// Like Redis, which cannot count its records.
class UncountedRecords final : public OtherRecords {
 public:
  using OtherRecords::OtherRecords;
  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber>, std::optional<RecordState>,
                                       std::size_t) override {
    ADD_FAILURE() << "all names are read";
    return std::vector<RecordView>();
  }
  Result<StoreStats> backlog() override {
    auto stats = OtherRecords::backlog();
    if (stats) stats->records_counted = false;
    return stats;
  }
};

class UncountedTest : public StuckPageTest {
 protected:
  Store& served() override { return uncounted_; }
  RecordsStore<UncountedRecords> uncounted_{*store_};
};

TEST_F(UncountedTest, AStoreThatWouldHaveToReadAllOfItIsNotAsked) {
  EXPECT_TRUE(shows(page(), "would have to read all of its names")) << page();
}

// The clock of a store that is an hour ahead of this process.
class LaterRecords final : public OtherRecords {
 public:
  using OtherRecords::OtherRecords;
  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    auto views = OtherRecords::list(consumer, state, limit);
    for (RecordView& view : *views) view.read_at = later(view);
    return views;
  }
  Result<std::optional<RecordView>> show(const KeyId& id) override {
    auto view = OtherRecords::show(id);
    if (*view) (*view)->read_at = later(**view);
    return view;
  }

 private:
  static std::optional<StoreTime> later(const RecordView& view) {
    EXPECT_TRUE(view.read_at) << "every store tells the time";
    return view.read_at.value_or(StoreTime()) + std::chrono::hours(1);
  }
};

class StoreClockTest : public StuckPageTest {
 protected:
  Store& served() override { return later_; }
  RecordsStore<LaterRecords> later_{*store_};
};

// By the process's own clock the lease is still valid.
TEST_F(StoreClockTest, WhetherALeaseIsOverIsSaidByTheClockThatGaveIt) {
  const Message held = message("held");
  const Message* const one = &held;
  ASSERT_TRUE(store_->claim({&one, 1}, {}));
  EXPECT_TRUE(shows(page(), ">held</a>")) << page();
  const std::string record = get_as(Role::kAdmin, "/record?key=held").body;
  EXPECT_TRUE(shows(record, "The lease of its holder ended at ")) << record;
  EXPECT_TRUE(shows(record, "the lease of its holder ended</li>"));
  EXPECT_TRUE(shows(record, "/forget\"")) << "as the store would allow";
}

TEST_F(StuckPageTest, NothingFromOutsideBecomesMarkup) {
  error_ = "<script>alert(2)</script>";
  finish("<script>alert(1)</script>", Finish::To::kParked, "<i>\"'");
  EXPECT_FALSE(shows(page(), "<script>alert")) << page();
  EXPECT_FALSE(shows(page(), "<i>"));
  EXPECT_FALSE(shows(page("/stuck?consumer=%3Cscript%3Ealert"), "<script>alert"));
}

TEST_F(StuckPageTest, AParameterThatIsWrongIsSaidSo) {
  EXPECT_EQ(get_as(Role::kRead, "/stuck?consumer=nobody").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/stuck?state=parked").status, 400);
  EXPECT_EQ(get("/stuck").status, 401);
  running_ = false;
  EXPECT_EQ(get_as(Role::kRead, "/stuck").status, 503);
}

}  // namespace
}  // namespace semel::admin

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

// As on Redis.
class UncountedRecords final : public RecordInspector {
 public:
  explicit UncountedRecords(RecordInspector& records) : records_(records) {}
  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    return records_.consumer(name);
  }
  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber>, std::optional<RecordState>,
                                       std::size_t) override {
    ADD_FAILURE() << "all names are read";
    return std::vector<RecordView>();
  }
  Result<std::optional<RecordView>> show(const KeyId& id) override { return records_.show(id); }
  Result<bool> forget(const KeyId& id) override { return records_.forget(id); }
  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return records_.forget_as(id, state, token);
  }
  Result<bool> unlock(const KeyId& id) override { return records_.unlock(id); }
  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    return records_.seize(id, lease);
  }
  Result<std::vector<StoreFinding>> verify(bool full) override { return records_.verify(full); }
  Result<StoreStats> stats() override { return records_.stats(); }
  Result<StoreStats> backlog() override {
    auto stats = records_.backlog();
    if (stats) stats->records_counted = false;
    return stats;
  }

 private:
  RecordInspector& records_;
};

class UncountedStore final : public FacetedStore {
 public:
  explicit UncountedStore(Store& store) : FacetedStore(store), records_(*store.facets().records) {}
  StoreFacets facets() noexcept override {
    StoreFacets facets = FacetedStore::facets();
    facets.records = &records_;
    return facets;
  }

 private:
  UncountedRecords records_;
};

class UncountedTest : public StuckPageTest {
 protected:
  Store& served() override { return uncounted_; }
  UncountedStore uncounted_{*store_};
};

TEST_F(UncountedTest, AStoreThatWouldHaveToReadAllOfItIsNotAsked) {
  EXPECT_TRUE(shows(page(), "would have to read all of its names")) << page();
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

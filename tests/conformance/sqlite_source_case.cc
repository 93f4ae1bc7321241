// The embedded queue joins the source suite: held messages of the SQLite store.
#include "sources/sources.h"
#include "stores/sqlite/store.h"
#include "tests/conformance/source_case.h"
#include "tests/support/temp_dir.h"

namespace semel::conformance {
namespace {

class QueuePlace final : public SourcePlace {
 public:
  QueuePlace() {
    SqliteOptions options;
    options.path = folder_.file("store.db");
    auto store = sqlite::open_store(std::move(options), clock_);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    if (store) store_ = std::move(*store);
    consumer_ = store_->attach({"payments", "recipe", false, {}}).value();
  }
  void add(const std::vector<Bytes>& payloads) override {
    std::vector<OutgoingMessage> rows(payloads.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].payload = payloads[i];
    EXPECT_TRUE(store_->facets().held->append(consumer_, rows).has_value());
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    return sources::make_held_source(*store_->facets().held, consumer_, kHiddenFor);
  }
  void advance(milliseconds by) override { clock_->advance(by); }

 private:
  test::TempDir folder_;
  std::shared_ptr<sqlite::MovedStoreClock> clock_ = std::make_shared<sqlite::MovedStoreClock>();
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

INSTANTIATE_TEST_SUITE_P(Queue, SourceSuite,
                         testing::Values(SourceCase{
                             "sqlite",
                             [] { return std::unique_ptr<SourcePlace>(new QueuePlace()); }}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance

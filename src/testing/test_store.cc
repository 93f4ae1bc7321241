#include <semel/testing/test_store.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include <semel/sqlite.h>

#include "core/failure.h"
#include "stores/sqlite/other_program.h"
#include "stores/sqlite/store.h"

namespace semel::testkit {

namespace {

// In memory on most systems.
constexpr const char* kMemoryFolder = "/dev/shm";

class OwnFolder {
 public:
  OwnFolder() {
    if (!make(kMemoryFolder) && !make(std::filesystem::temp_directory_path())) {
      throw SemelError({ErrorKind::kUnavailable, "R201", "no folder for a test's store can be made",
                        "let this user write to the folder for temporary files (TMPDIR)"});
    }
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  std::string file() const { return path_ + "/store.db"; }

 private:
  bool make(const std::filesystem::path& where) {
    std::string pattern = (where / "semel-store-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return false;
    path_ = std::move(pattern);
    return true;
  }

  std::string path_;
};

class FakeStoreClock final : public sqlite::StoreClock {
 public:
  explicit FakeStoreClock(FakeClock& clock) noexcept : clock_(clock), start_(clock.elapsed()) {}
  StoreTime now() noexcept override {
    return kBegin + std::chrono::floor<std::chrono::milliseconds>(clock_.elapsed() - start_);
  }
  std::chrono::nanoseconds elapsed() noexcept override { return clock_.elapsed(); }

 private:
  // Any time will do; the same at each run.
  static constexpr StoreTime kBegin =
      std::chrono::sys_days(std::chrono::year(2026) / std::chrono::January / 1);
  FakeClock& clock_;
  const std::chrono::nanoseconds start_;
};

template <class Work>
auto thrown_on(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const core::Failure& failed) {
    throw SemelError(failed.error());
  }
}

}  // namespace

class TestStore::Impl {
  // Before all that lies in it.
  const OwnFolder folder_;

 public:
  explicit Impl(std::string tables) : tables_(std::move(tables)), program_(path) {
    SqliteOptions options;
    options.path = path;
    options.checkpoints = false;
    options.environment = &environment.get();
    auto opened = sqlite::open_store(options, std::make_shared<FakeStoreClock>(environment.clock));
    if (!opened) throw SemelError(std::move(opened.error()));
    store = *std::move(opened);
    program_.run(tables_);
  }

  Rows run(std::string_view statements) {
    return thrown_on([&] { return program_.run(statements); });
  }

  void reset() {
    const Rows made = run(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view', 'table') AND name "
        "NOT LIKE 'semel\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "ORDER BY type = 'table', type = 'view'");
    std::string drops;
    for (const auto& row : made.rows) {
      drops += fmt::format("DROP {} IF EXISTS \"{}\";", std::get<std::string>(row[0]),
                           std::get<std::string>(row[1]));
    }
    run(drops + tables_);
  }

  const std::string path = folder_.file();
  FakeEnvironment environment;
  std::unique_ptr<Store> store;

 private:
  const std::string tables_;
  sqlite::OtherProgram program_;
};

TestStore::TestStore(std::string tables)
    : impl_(thrown_on([&] { return std::make_unique<Impl>(std::move(tables)); })) {}
TestStore::~TestStore() = default;

Store& TestStore::store() noexcept { return *impl_->store; }
FakeEnvironment& TestStore::environment() noexcept { return impl_->environment; }

Rows TestStore::sql(std::string_view statements) { return impl_->run(statements); }

std::int64_t TestStore::number(std::string_view query) {
  const Rows rows = sql(query);
  const auto* const number = rows.rows.empty() || rows.rows.front().empty()
                                 ? nullptr
                                 : std::get_if<std::int64_t>(&rows.rows.front().front());
  if (number == nullptr) {
    throw SemelError(
        {ErrorKind::kRejected, {}, fmt::format("no integer is the answer to: {}", query), {}});
  }
  return *number;
}

void TestStore::reset() { impl_->reset(); }

const std::string& TestStore::path() const noexcept { return impl_->path; }

}  // namespace semel::testkit

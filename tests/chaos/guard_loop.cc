#include "tests/chaos/guard_loop.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include <semel/semel.h>

#include "tests/support/ledger.h"

namespace semel::test {

namespace {

constexpr std::size_t kLoopBatch = 10;
// A claim that a kill leaves is taken over after it.
constexpr std::chrono::milliseconds kLoopLease{1'000};

std::unique_ptr<Store> store_at(const std::string& place) {
  const auto opened = [](Result<std::unique_ptr<Store>> store) {
    if (!store) throw SemelError(store.error());
    return *std::move(store);
  };
  if (const auto split = place.find(' '); place.starts_with("redis:")) {
    RedisOptions options;
    options.url = place.substr(0, split);
    options.prefix = place.substr(split + 1);
    return opened(open_redis(std::move(options)));
  }
  if (place.starts_with("postgres")) {
    PostgresOptions options;
    options.url = place;
    return opened(open_postgres(std::move(options)));
  }
  if (place.starts_with("mysql")) {
    MySqlOptions options;
    options.url = place;
    return opened(open_mysql(std::move(options)));
  }
  SqliteOptions options;
  options.path = place;
  return opened(open_sqlite(std::move(options)));
}

std::vector<std::string> ids_of(const std::string& path) {
  constexpr std::string_view kBefore = R"({"id":")";
  std::vector<std::string> ids;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kBefore)) throw std::runtime_error("no id in " + line);
    ids.push_back(line.substr(kBefore.size(), line.find('"', kBefore.size()) - kBefore.size()));
  }
  return ids;
}

class GuardLoop {
 public:
  GuardLoop(Store& store, const std::map<std::string, std::string>& settings)
      : guard_(store, options()),
        way_(settings.at("handler")),
        judged_(settings.contains("judged")),
        ledger_(settings.at("ledger")) {}

  // True where nothing of it is to come again.
  bool handle(std::span<const std::string> ids) {
    if (way_ == "guard_claim")
      return std::ranges::count_if(ids, [this](const auto& id) { return !claim(id); }) == 0;
    std::vector<BatchMessage> batch;
    batch.reserve(ids.size());
    for (const std::string& id : ids) batch.push_back({id, fingerprint_of(id)});
    const auto answers =
        way_ == "guard_batch"
            ? guard_.run_batch(batch,
                               [&](std::size_t i, Transaction& tx) { record_effect(ids[i], tx); })
            : guard_.run_batch(batch, [&](std::size_t i) { ledger_.note(ids[i]); });
    return std::ranges::all_of(answers, [](const Result<Outcome>& answer) {
      if (!answer) throw SemelError(answer.error());
      return answer->effect_exists();
    });
  }

 private:
  static GuardOptions options() {
    GuardOptions made;
    made.consumer = "chaos";
    made.lease = kLoopLease;
    return made;
  }

  void record_effect(const std::string& id, Transaction& tx) const {
    tx.exec("INSERT INTO effect(name, pid) VALUES (?, ?)", id,
            static_cast<std::int64_t>(::getpid()));
    auto update = tx.exec("UPDATE total SET n = n + 1");
    if (judged_) update.expect_rows(1, dead("no total"));
  }

  bool claim(const std::string& id) {
    auto begun = guard_.begin(id, fingerprint_of(id));
    if (!begun) throw SemelError(begun.error());
    if (!begun->claim) return begun->outcome.effect_exists();
    ledger_.note(id);
    const auto outcome = begun->claim->complete();
    if (!outcome) throw SemelError(outcome.error());
    return outcome->effect_exists();
  }

  Guard guard_;
  const std::string way_;
  const bool judged_;
  Ledger ledger_;
};

}  // namespace

int run_guard_loop(const std::string& place, const std::map<std::string, std::string>& settings) {
  const auto store = store_at(place);
  GuardLoop loop(*store, settings);
  const std::vector<std::string> ids = ids_of(settings.at("file"));
  for (std::size_t first = 0; first < ids.size();) {
    const std::size_t count = std::min(kLoopBatch, ids.size() - first);
    if (loop.handle(std::span(ids).subspan(first, count))) {
      first += count;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return 0;
}

}  // namespace semel::test

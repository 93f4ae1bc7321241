#include "cli/demo/trial_store.h"

#include <semel/admin/records.h>

#include "compose/compose.h"

namespace semel::cli::demo {

namespace {

config::Config load(const std::string& path) {
  auto loaded = config::load_file(path);
  if (loaded.config) return std::move(*loaded.config);
  std::string why;
  for (const auto& diagnostic : loaded.diagnostics) why += config::format(diagnostic, false);
  throw SemelError({ErrorKind::kRejected, {}, "the demo's own config is refused: " + why, {}});
}

}  // namespace

TrialStore::TrialStore(const std::string& config)
    : config_(load(config)),
      store_(value_or_throw(compose::open_store(config_.store, {.create = true}))),
      consumer_(value_or_throw(compose::attach(*store_, config_.consumers.front()))) {}

void TrialStore::append(std::span<const OutgoingMessage> messages) const {
  value_or_throw(store_->facets().held->append(consumer_, messages));
}

std::vector<Arrival> TrialStore::take(std::size_t most, std::size_t most_bytes,
                                      std::chrono::milliseconds hidden) const {
  return value_or_throw(store_->facets().held->take(consumer_, most, most_bytes, hidden));
}

void TrialStore::remove(std::span<const RowTag> rows) const {
  value_or_throw(store_->facets().held->remove(rows));
}

std::size_t TrialStore::parked() const {
  constexpr std::size_t kAll = 10'000'000;
  return value_or_throw(store_->facets().records->list(consumer_, RecordState::kParked, kAll))
      .size();
}

std::size_t TrialStore::depth() const {
  return value_or_throw(store_->facets().held->depth(consumer_)).rows;
}

}  // namespace semel::cli::demo

#include "strategies/front.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/digest.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTurnEvery{1'000};
// Stored among the positions of files; no normal path looks like this.
constexpr std::string_view kSecretPlace = "//semel.front";

constexpr std::size_t kSecretWords = 4;
constexpr std::size_t kSecretSize = 2 * kSecretWords * sizeof(std::uint64_t);

// 256 random bits, as text: some stores keep positions as text.
Bytes draw_secret(Random& random) {
  std::array<unsigned char, kSecretWords * sizeof(std::uint64_t)> bits{};
  for (std::size_t at = 0; at < bits.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(bits.data() + at, &word, sizeof word);
  }
  return digest::hex(digest::view(bits));
}

Result<void> save_secret(Positions& positions, ConsumerNumber consumer, Random& random) {
  return positions.save(consumer, kSecretPlace, draw_secret(random));
}

}  // namespace

Front::Front(FrontOptions options) : options_(std::move(options)) {
  look_at_secret();
  // Check the window now, so that no message has to find an error.
  if (auto well = options_.window->check(); !well) away(well.error());
  if (options_.own_thread) thread_ = std::thread([this] { loop(); });
}

Front::~Front() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Front::loop() {
  system::RelockableLock lock(mutex_);
  while (!wake_.wait_for(mutex_, kTurnEvery, [this]() SEMEL_REQUIRES(mutex_) { return ending_; })) {
    lock.unlock();
    turn();
    lock.lock();
  }
}

void Front::turn() {
  look_at_secret();
  if (away_) check_window();
}

void Front::look_at_secret() {
  bool reseal = false;
  {
    const system::MutexLock lock(mutex_);
    reseal = std::exchange(reseal_, false);
  }
  bool well =
      !reseal || save_secret(*options_.positions, options_.number, *options_.environment->random);
  const Elapsed asked = elapsed();
  Bytes found;
  if (well) {
    auto loaded = options_.positions->load(options_.number, kSecretPlace);
    // If the secret is missing, other data is missing too.
    well = loaded && *loaded && (*loaded)->size() == kSecretSize;
    if (well) found = **std::move(loaded);
  }
  const system::MutexLock lock(mutex_);
  if (!well) {
    reseal_ = true;
    trusted_until_ = {};
  } else if (!reseal_) {
    secret_ = std::move(found);
    trusted_until_ = asked + kFrontTrusted;
  }
}

void Front::doubt() noexcept {
  const system::MutexLock lock(mutex_);
  reseal_ = true;
  trusted_until_ = {};
}

FrontEntry Front::entry_of(BytesView secret, const Message& message) const {
  Bytes data(message.key().id.view());
  data += message.fingerprint().view();
  data += options_.consumer;
  const digest::Digest code = digest::hmac_sha256(secret, data);
  FrontEntry entry;
  static_assert(sizeof code == sizeof entry.name + sizeof entry.mark);
  std::copy_n(code.begin(), entry.name.size(), entry.name.begin());
  std::copy_n(code.begin() + entry.name.size(), entry.mark.size(), entry.mark.begin());
  return entry;
}

Front::Lookup Front::look(std::span<const Message* const> messages) {
  Lookup lookup;
  lookup.completed.resize(messages.size());
  Elapsed until;
  {
    const system::MutexLock lock(mutex_);
    lookup.secret = secret_;
    until = trusted_until_;
  }
  if (messages.empty() || lookup.secret.empty() || away_ || elapsed() >= until) return lookup;
  std::vector<FrontName> names;
  std::vector<FrontMark> marks;
  names.reserve(messages.size());
  marks.reserve(messages.size());
  for (const Message* message : messages) {
    const FrontEntry entry = entry_of(lookup.secret, *message);
    names.push_back(entry.name);
    marks.push_back(entry.mark);
  }
  asked_.fetch_add(names.size(), std::memory_order_relaxed);
  auto found = options_.window->look(names);
  if (!found) {
    away(found.error());
    return lookup;
  }
  // The secret's time may have ended while the window was asked.
  if (elapsed() >= until) return lookup;
  for (std::size_t i = 0; i < std::min(found->size(), marks.size()); ++i) {
    lookup.completed[i] = (*found)[i] == digest::view(marks[i]);
  }
  const auto answered = std::ranges::count(lookup.completed, true);
  answered_.fetch_add(static_cast<std::uint64_t>(answered), std::memory_order_relaxed);
  return lookup;
}

Front::Lookup Front::look(std::span<const core::TrackedDelivery> deliveries) {
  std::vector<const Message*> asked;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    if (deliveries[i].arrival.row || deliveries[i].arrival.suspect) continue;
    asked.push_back(&deliveries[i].message);
    places.push_back(i);
  }
  Lookup lookup = look(asked);
  std::vector<bool> completed(deliveries.size());
  for (std::size_t i = 0; i < places.size(); ++i) completed[places[i]] = lookup.completed[i];
  lookup.completed = std::move(completed);
  return lookup;
}

Front::Counts Front::counts() const noexcept {
  return {asked_.load(std::memory_order_relaxed), answered_.load(std::memory_order_relaxed)};
}

void Front::keep(BytesView secret, const Message& message) noexcept {
  if (away_) return;
  const FrontEntry entry = entry_of(secret, message);
  options_.window->keep({&entry, 1});
}

void Front::away(const Error& error) {
  const system::MutexLock lock(telling_);
  if (away_.exchange(true)) return;
  options_.observer->on_trouble(options_.consumer, kFrontComponent, error, false);
}

void Front::check_window() {
  if (!options_.window->check()) return;
  const system::MutexLock lock(telling_);
  away_ = false;
  options_.observer->on_trouble(options_.consumer, kFrontComponent,
                                {ErrorKind::kUnavailable, {}, {}, {}}, true);
}

}  // namespace semel::strategies

namespace semel {

Result<bool> reseal_fronts(Store& store, ConsumerNumber consumer, Environment& environment) {
  Positions* const positions = store.facets().positions;
  if (positions == nullptr) return false;
  const auto loaded = positions->load(consumer, strategies::kSecretPlace);
  if (!loaded) return failure(loaded.error());
  if (!*loaded) return false;
  auto saved = strategies::save_secret(*positions, consumer, *environment.random);
  if (!saved) return failure(std::move(saved.error()));
  return true;
}

}  // namespace semel

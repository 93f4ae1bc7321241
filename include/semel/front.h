// FrontWindow: a cache of completed keys in front of the records, so that a duplicate that comes
// soon costs no round trip to the store.
//
// A window may forget, and must never invent (docs/contract.md, rule 12). Semel checks that, and
// does not trust the window: it keeps a mark under a name, and both are derived from the
// consumer, the key, the fingerprint and a secret in the store. An answer counts only if it is the
// mark that the record's completion would have made; anything else is "unknown", and the record
// decides. Nothing that a window does, or fails to do, changes how a message is handled.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <semel/bytes.h>
#include <semel/environment.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/spi/store.h>

namespace semel {

// Names are spread evenly over all values.
using FrontName = std::array<unsigned char, 16>;
using FrontMark = std::array<unsigned char, 16>;
struct FrontEntry {
  FrontName name;
  FrontMark mark;
};

// Thread-safe.
class FrontWindow {
 public:
  virtual ~FrontWindow() = default;
  FrontWindow() = default;
  FrontWindow(const FrontWindow&) = delete;
  FrontWindow& operator=(const FrontWindow&) = delete;

  // The value under each name, in their order; empty where there is none. Must return soon. After
  // an error the window counts as unavailable, and is not asked again until `check` succeeds.
  virtual Result<std::vector<Bytes>> look(std::span<const FrontName> names) = 0;
  // Keeps the entries for a time, or drops them. Must not wait.
  virtual void keep(std::span<const FrontEntry> entries) noexcept = 0;
  // Whether it can be asked, and accepts entries. Called repeatedly while it is unavailable.
  virtual Result<void> check() = 0;
};

// For how long a window knows that a key is completed.
inline constexpr std::chrono::milliseconds kUsualFrontTtl{600'000};

struct MemoryFrontOptions {
  std::size_t entries = 100'000;  // beyond it older entries are dropped
  std::chrono::milliseconds ttl = kUsualFrontTtl;
  Environment* environment = nullptr;  // null: system_environment()
};

// In this process alone, and forgotten with it. Its memory is allocated when it is made.
[[nodiscard]] std::unique_ptr<FrontWindow> make_memory_front(MemoryFrontOptions options = {});

// For how long a process trusts the secret that it last read from the store.
inline constexpr std::chrono::milliseconds kFrontTrusted{3'000};

// Draws a new secret: kFrontTrusted after this returns, no process trusts an entry that this
// consumer's windows held before. Call it after a record was forgotten (RecordInspector::forget),
// or the store was restored from a backup. False: the consumer never had a window. Errors: as the
// store's other calls.
Result<bool> reseal_fronts(Store& store, ConsumerNumber consumer, Environment& environment);

}  // namespace semel

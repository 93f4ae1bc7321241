// FrontWindow: what stands in front of the records, so that a duplicate that comes soon again costs
// no way to the store.
//
// A window may forget, and must never invent (docs/contract.md, rule 12). The second is checked
// here, not left to the window: it keeps a mark under a name, and both are derived from the
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

// Names are evenly spread.
using FrontName = std::array<unsigned char, 16>;
using FrontMark = std::array<unsigned char, 16>;
struct FrontEntry {
  FrontName name;
  FrontMark mark;
};

// Any thread.
class FrontWindow {
 public:
  virtual ~FrontWindow() = default;
  FrontWindow() = default;
  FrontWindow(const FrontWindow&) = delete;
  FrontWindow& operator=(const FrontWindow&) = delete;

  // What lies under each name, in their order; empty where nothing does. Soon, or an error: then it
  // counts as away, and is asked nothing until `check` goes well.
  virtual Result<std::vector<Bytes>> look(std::span<const FrontName> names) = 0;
  // Keeps them for a time, or does not. Returns without waiting for anybody.
  virtual void keep(std::span<const FrontEntry> entries) noexcept = 0;
  // Whether it can be asked, and takes what is to be kept. Called again and again while it
  // is away.
  virtual Result<void> check() = 0;
};

// For how long a window knows that a key is completed.
inline constexpr std::chrono::milliseconds kUsualFrontTtl{600'000};

struct MemoryFrontOptions {
  std::size_t entries = 100'000;  // past it older ones go
  std::chrono::milliseconds ttl = kUsualFrontTtl;
  Environment* environment = nullptr;  // null: system_environment()
};

// In this process alone, and forgotten with it. Its memory is taken when it is made.
[[nodiscard]] std::unique_ptr<FrontWindow> make_memory_front(MemoryFrontOptions options = {});

// For how long a process goes by the secret it last saw in the store.
inline constexpr std::chrono::milliseconds kFrontTrusted{3'000};

// Another secret: all that the windows in front of this consumer's records hold, in whatever
// process, means nothing once kFrontTrusted has passed since the return. To be called after a
// record was forgotten (RecordInspector::forget), or the store was put back to what it was. False:
// there never was a window in front of them. Errors as of the store's other calls.
Result<bool> reseal_fronts(Store& store, ConsumerNumber consumer, Environment& environment);

}  // namespace semel

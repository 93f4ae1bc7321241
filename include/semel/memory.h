// The memory store: for tests, for benchmarks, and where forgetting is fine.
#pragma once

#include <cstddef>
#include <memory>

#include <semel/environment.h>
#include <semel/spi/store.h>

namespace semel {

struct MemoryOptions {
  // Records kept; beyond it the oldest finished one is forgotten, and the next delivery of its key
  // is handled again. Counted in PurgeReport. Unfinished records are never forgotten: claims fail
  // with kLimit instead.
  std::size_t max_records = 1'000'000;
  Environment* environment = nullptr;  // null: system_environment(); its clock is the store's
};

inline constexpr StoreTraits kMemoryTraits{.name = "memory", .forgets = true};

// Everything is lost with the process. Facets: all but `transactional`, `runs` and `live`.
[[nodiscard]] std::unique_ptr<Store> make_memory_store(MemoryOptions options = {});

}  // namespace semel

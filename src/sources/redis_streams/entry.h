// Entries of a stream, as a server returns them, and as arrivals.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/spi/delivery.h>

#include "clients/redis/reply.h"

namespace semel::redis_streams {

// 1526919030474-55.
struct EntryId {
  std::uint64_t milliseconds = 0;
  std::uint64_t sequence = 0;
  auto operator<=>(const EntryId&) const = default;

  std::string text() const;
};
std::optional<EntryId> read_entry_id(std::string_view text);

struct Entry {
  EntryId id;
  std::unique_ptr<Arrival> arrival;  // null: it was trimmed or deleted
};

// The field `payload` is the payload, all others are headers; an entry without that field has the
// JSON object of its fields as payload, and all of them as headers too. An entry with two fields of
// that name is refused: it is unclear which one is meant.
std::unique_ptr<Arrival> arrival_of(const std::vector<redis::Reply>& fields,
                                    std::string_view payload);
// An entry whose data was deleted while it was pending.
std::unique_ptr<Arrival> arrival_without_data(const EntryId& id, std::string_view stream);

// Parses the list of entries that XREADGROUP returns for a stream, and that XCLAIM and XRANGE
// return. Throws core::Failure (R200) if it is none.
std::vector<Entry> read_entries(const redis::Reply& list, std::string_view payload);
// Parses a list of ids. Throws likewise.
std::vector<EntryId> read_ids(const redis::Reply& list);
EntryId need_entry_id(const redis::Reply& reply);

}  // namespace semel::redis_streams

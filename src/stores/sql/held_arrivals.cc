#include "stores/sql/held_arrivals.h"

#include <algorithm>

#include "core/headers_text.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

constexpr int kSmall = 64 << 10;

constexpr const char* kColumns[] = {
    "row_id",  "suspect",      "attempts",         "first_seen",      "fingerprint", "message_key",
    "type",    "content_type", "source_partition", "source_position", "broker_key",  "broker_time",
    "headers", "line"};
constexpr std::size_t kSize = std::size(kColumns);
constexpr std::size_t kPayload = kSize + 1;
static_assert(kPayload + 1 == kAfterArrival);

}  // namespace

std::string arrival_columns() {
  std::string text;
  for (const char* column : kColumns) text += std::string(column) + ", ";
  return text +
         "octet_length(payload), CASE WHEN octet_length(payload) <= " + std::to_string(kSmall) +
         " THEN payload END";
}

FoundArrival arrival_at(const Answer& row, StoreTime now) {
  FoundArrival found;
  Arrival& arrival = found.arrival;
  arrival.row = RowTag{row.integer(0)};
  arrival.tag.value = static_cast<std::uint64_t>(row.integer(0));
  arrival.suspect = row.boolean(1);
  arrival.attempts = row.small(2);
  if (!row.null(3)) arrival.since_first = std::max(now - row.time(3), milliseconds(0));
  if (!row.null(4)) arrival.fingerprint = row.fingerprint(4);
  arrival.key = row.maybe_bytes(5);
  arrival.type = row.bytes(6);
  arrival.content_type = row.bytes(7);
  arrival.partition = row.bytes(8);
  arrival.position = row.bytes(9);
  arrival.broker_key = row.maybe_bytes(10);
  if (!row.null(11)) arrival.broker_time = row.time(11);
  arrival.headers = core::headers_of(row.bytes(12));
  arrival.line = row.maybe_bytes(13);
  found.size = static_cast<std::size_t>(row.integer(kSize));
  found.whole = !row.null(kPayload);
  arrival.payload = row.bytes(kPayload);
  return found;
}

}  // namespace semel::sql

// HeldContent: the content of a held row, or of a dead letter.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include <semel/admin/records.h>
#include <semel/spi/finish.h>
#include <semel/spi/held_messages.h>

namespace semel::sql {

// The content of a row. Borrows everything.
struct HeldContent {
  ConsumerNumber consumer{};
  StoreTime due{};
  std::optional<StoreTime> first_seen;
  int attempts = 0;
  std::optional<BytesView> key;
  std::optional<Fingerprint> fingerprint;
  BytesView payload;
  const Headers* headers = nullptr;
  std::string_view content_type;
  std::string_view type;
  std::string_view partition;
  std::string_view position;
  std::optional<BytesView> broker_key;
  std::optional<std::chrono::system_clock::time_point> broker_time;
  std::optional<BytesView> line;
  std::optional<std::int64_t> inbox;

  static HeldContent of(const Message& message, const Arrival* arrival);
  // The payload of a found row, to be kept elsewhere.
  static HeldContent of(const Arrival& arrival, ConsumerNumber consumer);
  static HeldContent of(ConsumerNumber consumer, const OutgoingMessage& message, StoreTime now);
};

// A held row that was tried, so it may be held for a record; and its key.
struct TriedRow {
  RowTag row{};
  ConsumerNumber consumer{};
  Bytes key;
};

// How a held row waits again. Borrows the key.
struct HeldMove {
  StoreTime due{};
  int attempts = 0;
  StoreTime first_seen{};  // used where the row has none
  std::optional<BytesView> key;
  std::optional<Fingerprint> fingerprint;
  bool keep_inbox = false;   // else a record has the inbox row
  bool leaves_line = false;  // else it keeps its place
};

}  // namespace semel::sql

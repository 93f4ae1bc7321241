// A record's bytes as operators see them.
#pragma once

#include <optional>

#include <semel/admin/records.h>

namespace semel::redis {

// Throws core::Failure as decoded().
RecordView view_of(const KeyId& id, BytesView bytes);

// From a record's first two bytes: whether it is not completed, and in `state` where one is given.
// True also for a record that cannot be read: its reader reports that.
bool is_unfinished(BytesView beginning, std::optional<RecordState> state);

char state_letter(RecordState state) noexcept;
Bytes token_bytes(std::uint64_t token);
// The value under a consumer's name begins with its number.
ConsumerNumber number_in(BytesView known);

}  // namespace semel::redis

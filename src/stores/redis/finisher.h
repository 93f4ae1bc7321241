// Encodes one Finish for the script: a part for the record, and one for rows and letters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/redis/held_rows.h"
#include "stores/redis/store_context.h"

namespace semel::redis {

// Adds an entry to a call of Scripts::finish, whose first argument is there already. `ttl`: in ms,
// or empty.
void append_finish(Call& call, const Names& names, const Finish& finish, BytesView ttl);

// Its parts, for a Cluster, where they go to several nodes.
bool is_leased(const Finish& finish) noexcept;
char ending_letter(Finish::To to);
unsigned finish_flags(const Finish& finish) noexcept;
BytesView nonce_of(const Lease& lease);
Bytes ending_of(const Finish& finish);
// The part that does not concern the record; empty where there is none. `sent_with_it`: includes
// outgoing messages.
Bytes extra_of(const Finish& finish, bool sent_with_it);
// The row to remove, as scripts identify it; empty without one.
Bytes ack_of(const Finish& finish);
Bytes ack_of(const RowPlace& place);

// Whether it can be sent to Scripts::complete; append_completion adds it.
bool only_completes(const Finish& finish) noexcept;
// The answer for one that Scripts::finish must end.
inline constexpr char kHasRow = 'h';
void append_completion(Call& call, const Names& names, const Finish& finish);

// The approximate size of the entry.
std::size_t weight_of(const Finish& finish) noexcept;

// Throw core::Failure: where messages may be evicted, and where one is too large for a value.
void need_no_messages(std::span<const Finish> batch);
void need_room(const StoreContext& context, std::span<const Finish> batch);

// The batch with Instance::compared nonces: `batch` itself where they are as they were drawn,
// otherwise a copy in `kept`.
std::span<const Finish> compared(const Instance& instance, std::span<const Finish> batch,
                                 std::vector<Finish>& kept);

}  // namespace semel::redis

// What one Finish is to the script: its part about the record, and the one about rows and letters.
#pragma once

#include <string>

#include <semel/spi/finish.h>

#include "stores/redis/core.h"
#include "stores/redis/held_rows.h"

namespace semel::redis {

// Adds an entry to a call of Scripts::finish, whose first argument stands there already. `ttl`: in
// ms, or empty.
void append_finish(Call& call, const Names& names, const Finish& finish, BytesView ttl);

// Its parts, for a Cluster, where they go to several nodes.
bool is_leased(const Finish& finish) noexcept;
char ending_letter(Finish::To to);
unsigned finish_flags(const Finish& finish) noexcept;
BytesView nonce_of(const Lease& lease);
Bytes ending_of(const Finish& finish);
// What is said beside the record; nothing where there is nothing to say. `sent_with_it`: what
// leaves with it too.
Bytes extra_of(const Finish& finish, bool sent_with_it);
// The row that goes, as scripts know it; empty without one.
Bytes ack_of(const Finish& finish);
Bytes ack_of(const RowPlace& place);

// Whether it is one for Scripts::complete, to which append_completion adds it.
bool only_completes(const Finish& finish) noexcept;
// What it answers of one that Scripts::finish has to end.
inline constexpr char kHasRow = 'h';
void append_completion(Call& call, const Names& names, const Finish& finish);

// About how much the entry adds.
std::size_t weight_of(const Finish& finish) noexcept;

}  // namespace semel::redis

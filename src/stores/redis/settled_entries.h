// Settled entries: entries of streams that a finish acknowledges in the script that writes their
// records, where both are in one database of one server.
//
// The source names the server that an entry is pending on by that server's run id, and the script
// compares it with the run id of the connection that runs it. After a failover or a restart the two
// agree again only once both have connected to the new server.
#pragma once

#include <cstddef>
#include <span>

#include <semel/spi/finish.h>

#include "clients/redis/script.h"

namespace semel::redis {

struct SettledEntry {
  const StreamEntry* entry;
  std::size_t answer;  // the number of its record's letter in the answer, from 1; 0: it has none
};

// The entry that the Finish settles for good, if it is in that database, on whatever server; null:
// none.
const StreamEntry* entry_settled_here(const Finish& finish, unsigned database) noexcept;

// The letter of a script's answer for a Finish.
Applied applied_of(char letter) noexcept;

// Adds them behind the arguments of a call, for lua::kSettleEntries. Nothing for none.
void append_entries(Call& call, std::span<const SettledEntry> settled);

}  // namespace semel::redis

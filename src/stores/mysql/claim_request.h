// ClaimRequest: messages whose keys are claimed, and the results of reading their records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <semel/message.h>
#include <semel/spi/claim.h>
#include <semel/spi/record_machine.h>

#include "stores/sql/claims.h"

namespace semel::mysql {

struct ClaimRequest {
  ClaimRequest(std::span<const Message* const> all, std::int64_t into)
      : messages(all),
        generation(into),
        open(sql::in_order(all)),
        answers(all.size(), Busy{spi::kShortestBusy}) {}

  std::span<const Message* const> messages;
  std::int64_t generation;
  std::vector<std::uint32_t> open;  // not answered finally, in the order of their ids
  std::vector<Claim> answers;
  // From the last read, in the order of their ids.
  std::vector<std::uint32_t> missing;
  std::vector<std::uint32_t> due;

  const Message& message(std::uint32_t at) const { return *messages[at]; }
  const KeyId& id(std::uint32_t at) const { return messages[at]->key().id; }
  // The index of an open one.
  std::uint32_t at(const KeyId& wanted) const {
    return *std::ranges::lower_bound(open, wanted, {}, [&](std::uint32_t i) { return id(i); });
  }
  std::vector<KeyId> ids(const std::vector<std::uint32_t>& of) const {
    std::vector<KeyId> all;
    all.reserve(of.size());
    for (const std::uint32_t at : of) all.push_back(id(at));
    return all;
  }
};

}  // namespace semel::mysql

// The SQL functions of the store: each constant is the text of the file of its name in functions/,
// which the build embeds (cmake/SemelEmbed.cmake). functions.cc fills in their {names}.
#pragma once

#include <span>

namespace semel::postgres::functions {

struct Source {
  const char* name;
  const char* text;
};
// Every file of functions/.
std::span<const Source> sources() noexcept;

// Called by the functions of the other files.
extern const char* const kShared;
// The common body of the two forms of claim; kClaims has it as {claim}.
extern const char* const kClaim;
// claim, claim_many, done.
extern const char* const kClaims;
// begin, renew, complete, retry, dead.
extern const char* const kLeases;
// publish.
extern const char* const kQueue;

}  // namespace semel::postgres::functions

// The procedures of the store: each constant is the text of the file of its name in functions/,
// which the build embeds (cmake/SemelEmbed.cmake). functions.cc fills in their {names}.
#pragma once

#include <span>

namespace semel::mysql::functions {

struct Source {
  const char* name;
  const char* text;
};
// Every file of functions/.
std::span<const Source> sources() noexcept;

// Called by the procedures of the other files.
extern const char* const kShared;
// The common body of the two forms of claim; kClaims has it as {claim}.
extern const char* const kClaim;
// claim, claim_many, done.
extern const char* const kClaims;
// The keys of claim_many with their ids, as a table of a query.
extern const char* const kBatch;
// The end of claim_many: what each key is answered.
extern const char* const kAnswers;
// begin, renew, complete, retry, dead, release.
extern const char* const kLeases;
// publish.
extern const char* const kQueue;

}  // namespace semel::mysql::functions

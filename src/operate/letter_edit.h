// Another payload, or other headers, for a dead letter: what the store is to be told, and why not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/admin/records.h>

#include "base/iso_time.h"
#include "operate/store_access.h"

namespace semel::operate {

// Header of a letter that was edited: when it last was, and the fingerprint before that.
inline constexpr std::string_view kEditedHeader = "semel-edited";

// Stays as it is, where nothing is said.
struct LetterChange {
  std::optional<Bytes> payload;
  Headers set;                      // each in place of all headers of its name, in any case
  std::vector<std::string> remove;  // names of headers, in any case
};

struct PlannedEdit {
  LetterEdit edit;
  std::optional<KeyId> record;  // of the letter; none: it has no key
  bool changes = false;         // false: the letter is so already
};

// The edit that `change` makes of `letter`, which has its payload and headers. Its key stays: R349
// where the consumer's recipe gives the new message another one or refuses it, where a name of a
// header is Semel's own, or where a letter whose payload was not kept is given none. `texts`: the
// error may quote what the message has. Other errors are the store's.
Result<PlannedEdit> plan_edit(const StoreAccess& access, const DeadLetter& letter,
                              const LetterChange& change, UtcTime now, bool texts = true);

// The store's answer to the edit, without changing anything.
Result<Edited> foresee_edit(const StoreAccess& access, const DeadLetter& letter,
                            const PlannedEdit& planned);

// The answer of the store as an error: R343, R348 where the letter or its record moved on, R349
// where this letter cannot be edited. nullopt: it was done.
std::optional<Error> refusal_of(Edited edited, std::int64_t letter);

// Names what a letter contains: it is another one after each change of payload or headers.
std::string revision_of(const DeadLetter& letter);
std::string revision_of(const Fingerprint& fingerprint, BytesView payload, const Headers& headers);

// Sizes, fingerprints and names of headers, and no contents: "payload 17 to 40 bytes, …".
std::string difference_of(const LetterEdit& edit);

}  // namespace semel::operate

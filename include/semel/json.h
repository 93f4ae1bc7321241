// json_at: the key of a message in the JSON of its payload, for a loop of your own.
//
//   const auto id = semel::json_at(payload, "/id");
//   if (id && *id) outcome = guard.run_once(**id, semel::fingerprint_of(payload), work);
//
// Thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include <semel/bytes.h>
#include <semel/result.h>

namespace semel {

// The string or the integer at a JSON pointer (RFC 6901) of `payload`, by the rules by which
// `semel run` finds a key at `json:/id` (docs/guide/key.md): a record that either of them made
// is the other's too. A string comes without its escapes; an integer as it is written, with all its
// digits. nullopt: there is no such member, or the payload is empty.
//
// kRejected with the code
//   payload.invalid  the payload is no JSON (RFC 8259) in UTF-8, or is nested too deep
//   key.invalid      null, a boolean, an object, an array, a number with a fraction or an exponent,
//                    or the empty string; or a member of that name stands twice in its object
//   ""               `pointer` is no JSON pointer
// The codes are the reasons of the dead letters that the message would be in a run. Parses the
// payload in each call, whatever its size; the Guard refuses a key that is too long. Throws
// std::bad_alloc only.
[[nodiscard]] Result<std::optional<Bytes>> json_at(BytesView payload, std::string_view pointer);

}  // namespace semel

// Names of what a store keeps on its server.
//
//   semel:{3f}…             a record: its slot, then the 20 bytes of the key's id, which begin with
//                           the consumer's number
//   semel:{store}consumers  a hash: each consumer's name, and its number and key recipe
//   semel:{store}numbers    a hash: whose each number is
//   semel:{store}gates      a hash: which consumers begin nothing for now
//   semel:{store}positions  a hash: how far each file was read for each consumer
//   semel:{store}reader:…   which process reads a file for a consumer; it expires
//   semel:{store}token      the last token, and the life of the server that it was given in
//
// An id stands there as bytes, not as text: with the usual prefix a name then fits into 32 bytes of
// the server's memory, and with base64 it would take 48.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/key.h>

namespace semel::redis {

// Into how many slots the records of a store are spread. A Cluster gives each to one of its nodes.
// Never another number: a record would not be found again.
inline constexpr unsigned kSlots = 256;

class Names {
 public:
  // `prefix`: of everything. It holds no brace (open_redis refuses one).
  explicit Names(std::string prefix);

  std::string record(const KeyId& id) const;
  // Whose record has this name; none where it is no record's.
  std::optional<KeyId> id_of(std::string_view name) const;
  const std::string& prefix() const noexcept { return prefix_; }

  // What stands there once for the whole store.
  std::string of_store(const std::string& what) const;

  const std::string consumers;
  const std::string numbers;
  const std::string token;

 private:
  const std::string prefix_;
};

}  // namespace semel::redis

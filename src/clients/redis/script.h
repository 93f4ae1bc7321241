// Script: a Lua program that a server runs in one step.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clients/redis/command_args.h"
#include "clients/redis/connection.h"

namespace semel::redis {

// Limits of one call: the server does nothing else while a script runs.
inline constexpr std::size_t kMostKeys = 256;
inline constexpr std::size_t kMostBytes = 1 << 20;

struct Call {
  CommandArgs keys;
  CommandArgs arguments;
  // Index of the argument that is replaced with the run id of the asked server.
  std::optional<std::size_t> life_at{};
};

// Thread-safe.
class Script {
 public:
  // kKeys: it touches only the keys that it is given. kSlot: also others in the slot of the first
  // key.
  enum class Reach { kKeys, kSlot };

  explicit Script(std::string text, Reach reach = Reach::kKeys);
  // The parts of a call other than one key and one argument for each entry.
  struct Shape {
    std::size_t heads = 0;  // arguments before the entries, equal in all calls of a bundle
    std::size_t plain = 0;  // keys before the entries
  };
  // A script that can run as a bundle. `before` runs once for all of its calls, and finds the heads
  // at the beginning of ARGV. `body` runs for each call: it has `count` keys behind index `k` of
  // `keys`, and the arguments of the entries behind index `a` of `args`.
  Script(const std::string& before, const std::string& body, Shape shape);

  // Runs the script for each call, sent together; each is a step of its own. A server that does not
  // know the script, or has forgotten it, is sent its text. Replies may be errors. Throws
  // core::Failure as Connection::run, and in doubt also if only the text could not be sent.
  std::vector<Reply> run(Connection& connection, std::span<const Call> calls, Loss loss) const;

  // Sends one call, by the script's digest, which a server may not know (NOSCRIPT), or by its text.
  // `on_cluster`: a script that reaches beyond its keys gets one more key, which never exists. A
  // node then refuses to run it on a slot that is moving to another node, with half of what it
  // needs.
  void send(Connection& connection, const Call& call, bool with_text, bool on_cluster) const;

  // A bundle is one command that runs several calls, each for a slot of its own, on a node that has
  // all those slots. The server checks each key: a call that touches a slot which the node does not
  // have, or not in whole, is refused. A refused call has done nothing, as long as the script reads
  // all its keys before it writes.
  bool bundles() const noexcept { return !bundle_.text.empty(); }
  // The reply is a list: for each call its reply, or nil if it was refused.
  void send_bundle(Connection& connection, std::span<const Call> calls,
                   std::span<const std::size_t> which, bool with_text) const;

 private:
  struct Program {
    explicit Program(std::string its_text);
    const std::string text;
    const std::string digest;  // the server's name for it
  };

  const Program alone_;
  const Program bundle_;
  const Shape shape_;
  const Reach reach_ = Reach::kKeys;
};

}  // namespace semel::redis

// NamedStatements: statements prepared on a borrowed connection, where its owner allows it.
//
// Others prepare there too: the owner, and other stores over the same connection. A name is a
// digest of its statement, so a known name always runs that statement. Prepared statements belong
// to the session: the owner may discard them, or a pooler may give the next transaction another
// session. Then the server refuses a name that is missing, or that exists already, and its list is
// read again. A session that refuses often gets statements without names.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "stores/postgres/pq.h"
#include "stores/postgres/wire.h"

namespace semel::postgres {

class NamedStatements {
 public:
  // No more are prepared on a session, since nothing frees them before it ends.
  static constexpr std::size_t kMost = 1'024;
  // Refusals after which nothing is prepared any more.
  static constexpr int kMostRefusals = 8;

  struct Named {
    std::string name;
    std::size_t unit = 0;   // the unit that prepared it
    bool there = false;     // on the server
    bool outdated = false;  // what it was prepared for has changed: close it first
  };

  // A unit begins on the session whose server process has this number.
  void begin_unit(int backend);
  bool prepared_before(const Named& one) const noexcept { return one.unit != units_; }

  // Whether the list of names must be read before a name is used.
  bool must_look() const noexcept { return looks_ && !given_up(); }
  // The query for the names of a session that begin as ours do.
  static const std::string& list() noexcept;
  void found(const PGresult* names);

  // Null: send it without a name.
  Named* of(const std::string& sql, const WireParams& params);
  // The statement is being prepared.
  void prepares(Named& one) noexcept;
  void not_there(Named& one) noexcept;
  // The server reports that a name is missing, or that it exists already.
  void refused() noexcept;

 private:
  using Texts = std::unordered_map<std::string, Named>;

  bool given_up() const noexcept { return refusals_ >= kMostRefusals; }

  Texts texts_;
  Texts::value_type* last_ = nullptr;  // the last one asked for: a batch repeats few
  std::unordered_set<std::string> there_;
  std::size_t count_ = 0;  // on the server, ours and those of others
  int backend_ = 0;
  int refusals_ = 0;
  std::size_t units_ = 0;
  bool looks_ = true;
};

}  // namespace semel::postgres

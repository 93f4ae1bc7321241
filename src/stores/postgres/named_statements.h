// NamedStatements: what is prepared on a borrowed connection, where its owner allows it.
//
// Others prepare there too: the owner, and other stores over the same connection. A name is a
// digest of its statement, so whoever knows a name knows what it runs. What is prepared is the
// session's: the owner may discard it, or a pooler may give the next transaction another session.
// Then the server refuses what is not there, or is there already, and its list is read again. A
// session that refuses often is given statements without a name.
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
  // More are not prepared on a session: nobody frees them before it ends.
  static constexpr std::size_t kMost = 1'024;
  // Refusals after which nothing is prepared any more.
  static constexpr int kMostRefusals = 8;

  struct Named {
    std::string name;
    std::size_t unit = 0;   // that prepared it
    bool there = false;     // on the server
    bool outdated = false;  // what it was prepared for has changed: it must go first
  };

  // A unit begins on the session whose server process has this number.
  void begin_unit(int backend);
  bool prepared_before(const Named& one) const noexcept { return one.unit != units_; }

  // Whether the server is to be asked what is there, before anything is sent by its name.
  bool must_look() const noexcept { return looks_ && !given_up(); }
  // The names of a session that begin as ours do.
  static const std::string& list() noexcept;
  void found(const PGresult* names);

  // Null: it is sent without a name.
  Named* of(const std::string& sql, const WireParams& params);
  // It is being prepared.
  void prepares(Named& one) noexcept;
  void not_there(Named& one) noexcept;
  // The server says that a name is not there, or that it is there already.
  void refused() noexcept;

 private:
  using Texts = std::unordered_map<std::string, Named>;

  bool given_up() const noexcept { return refusals_ >= kMostRefusals; }

  Texts texts_;
  Texts::value_type* last_ = nullptr;  // that was asked for: a batch repeats few
  std::unordered_set<std::string> there_;
  std::size_t count_ = 0;  // on the server, by this one and by others
  int backend_ = 0;
  int refusals_ = 0;
  std::size_t units_ = 0;
  bool looks_ = true;
};

}  // namespace semel::postgres

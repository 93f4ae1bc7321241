// HandlerStatements: sends the user's statements to MariaDB and MySQL and reads their answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "core/unique_rules.h"
#include "stores/mysql/wire.h"
#include "stores/sql/handler_wire.h"

namespace semel::mysql {

// The statements' texts.
class HandlerTexts {
 public:
  struct Known {
    std::vector<std::string> parts;   // between the placeholders
    std::vector<std::string> tables;  // that it writes
    bool backslash = false;           // stands somewhere in it
    std::optional<sql::Broke> refused;
  };
  // Statements that would end the transaction, or write where only the store may, are refused here
  // again. So are texts that the server would parse differently from our lexer: several statements
  // go to it in one packet, and none may reach into the next. The result is valid until the next
  // call.
  const Known& of(const Statement& statement);
  std::size_t size() const noexcept { return texts_.size(); }

  // The most texts remembered at a time.
  static constexpr std::size_t kMost = sql::kMostTexts;

 private:
  std::unordered_map<std::string, std::unique_ptr<Known>> texts_;
};

// Whether the statement says schema.table, quoted or not.
bool names_in_full(std::string_view sql, std::string_view schema, std::string_view table);

class HandlerWire final : public sql::HandlerWire {
 public:
  // `mark`: the savepoint of its unit in a borrowed transaction, empty where there is none; it
  // outlives this. `names_blocked`: as in UnitOptions.
  HandlerWire(Wire& wire, HandlerTexts& texts, const std::string& mark, bool names_blocked = false)
      : wire_(wire), texts_(texts), mark_(mark), names_blocked_(names_blocked) {}

  void send(sql::Mark mark) override;
  std::optional<sql::Broke> send(const RecordedStatement& statement, bool with_rows) override;
  std::vector<sql::Told> run() override;
  // The code of the server's refusal in the last run; zero: none.
  unsigned last_refusal() const noexcept { return last_refusal_; }

 private:
  struct Sent {
    const RecordedStatement* statement = nullptr;  // null: a mark, or a named lock's statement
    bool with_rows = false;
    bool lock = false;
  };
  void send(const LockName& name);
  void note(Sent sent);
  sql::Broke broke(const Refusal& refusal, const RecordedStatement& statement);
  const UniqueRule* rule(const Refusal& refusal, const RecordedStatement& statement);
  std::vector<core::UniqueName> names_of(const std::string& sql, const std::string& table,
                                         const std::string& key);

  Wire& wire_;
  HandlerTexts& texts_;
  const std::string& mark_;
  const bool names_blocked_;
  unsigned last_refusal_ = 0;
  std::size_t before_ = 0;  // sent by others
  std::vector<Sent> sent_;
  bool commits_ = false;  // the sent statements end with a commit
};

}  // namespace semel::mysql

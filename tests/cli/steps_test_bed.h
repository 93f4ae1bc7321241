// Orders that take two calls, by the real program on some store: the service they call, the config,
// and what became of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/http_server.h"

namespace semel::test {

// A folder with a config over a database, of whichever kind.
class StepsTestBed {
 public:
  virtual ~StepsTestBed() = default;

  virtual std::string config() const = 0;
  // In the store's database, by its own client.
  virtual void sql(const std::string& text) const = 0;
  virtual std::int64_t number(const std::string& query) const = 0;

  // The program with `-c` of this config behind the words.
  Ran semel(Words words, const StartOptions& options = {}) const;
  // One that runs until it is stopped.
  std::unique_ptr<Program> start() const;
  // A run until nothing is left to do.
  Ran run_once() const;
  void send(std::string_view id = "o-1") const;
  // The value at a JSON pointer of the record of o-1.
  std::string record(std::string_view pointer) const;
  // Puts another consumer into the config.
  void rewrite(std::string_view before, std::string_view after) const;
};

template <class Database>
class StepsTestBedOn final : public StepsTestBed {
 public:
  // As Database is made.
  template <class... Parts>
  explicit StepsTestBedOn(Parts&&... parts) : database_(std::forward<Parts>(parts)...) {}

  std::string config() const override { return database_.config(); }
  void sql(const std::string& text) const override { database_.sql(text); }
  std::int64_t number(const std::string& query) const override { return database_.number(query); }

 private:
  const Database database_;
};

// A store that steps_everywhere_test.cc is run on.
struct StepsDatabase {
  std::string name;
  std::function<std::unique_ptr<StepsTestBed>(std::string_view consumer)> make;
};
// Which ones they are, is linked.
std::vector<StepsDatabase> steps_grounds();

// "/lock" and "/charge", with "/unlock" and "/refund" as their undos.
class StepsService {
 public:
  // The consumer that calls it, as TestBed takes it.
  std::string consumer(std::string_view strategy = "fence") const;
  HttpServer& server() { return server_; }
  // "/lock o-1/lock_stock", …: in the order they came.
  std::vector<std::string> calls() const;
  // The first /charge gets no answer.
  void hang_first_charge();

 private:
  HttpServer server_;
};

// The statements after a consumer's steps: the order is paid, where there is one.
extern const std::string_view kStepsApply;
// For kStepsApply: o-1, which is new.
extern const char* const kOrdersTable;

std::string without_undos(std::string consumer);
// Fails the test where `what` is not there.
std::string with_other(std::string text, std::string_view what, std::string_view with);

}  // namespace semel::test

// The suite of Guard over a database server: a store of ours, and the caller's own connection with
// its open transaction. A server joins by a place.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <semel/error.h>
#include <semel/guard.h>
#include <semel/spi/store.h>

namespace semel::conformance {

inline const Fingerprint kBody = fingerprint_of("body");

// The options of a guard for the consumer "orders".
GuardOptions orders();

// A connection of the caller's.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void run(const std::string& sql) = 0;
  // The first field of the first row.
  virtual std::string ask(const std::string& sql) = 0;
  virtual void begin(const std::string& isolation) = 0;
  // Whether a transaction is open, intact and ready for the next statement.
  virtual bool in_transaction() = 0;
  // SQL with which another connection ends this one's session.
  virtual std::string end_session() = 0;
  // Makes the tables where they are missing.
  virtual Result<std::unique_ptr<Store>> borrow() = 0;
};

class GuardPlace {
 public:
  virtual ~GuardPlace() = default;
  virtual std::unique_ptr<Caller> connect() = 0;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  // Whether a session waits for another one's lock.
  virtual bool somebody_waits() = 0;
  // Whether at the stricter isolations the server may ask for the whole transaction once more.
  virtual bool may_ask_again() const { return false; }
};

struct GuardCase {
  std::string name;
  std::function<std::unique_ptr<GuardPlace>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const GuardCase& one) { return out << one.name; }

class GuardSuite : public testing::TestWithParam<GuardCase> {
 protected:
  GuardSuite() : place_(GetParam().make()), caller_(place_->connect()) {
    run("CREATE TABLE effect (name text NOT NULL)");
  }

  void run(const std::string& sql) { caller_->run(sql); }
  int effects() { return std::stoi(caller_->ask("SELECT count(*) FROM effect")); }
  std::unique_ptr<Store> own_store() { return opened(place_->open()); }
  std::unique_ptr<Store> borrowed() { return opened(caller_->borrow()); }
  static std::unique_ptr<Store> opened(Result<std::unique_ptr<Store>> store) {
    if (!store) throw SemelError(store.error());
    return *std::move(store);
  }

  std::unique_ptr<GuardPlace> place_;
  std::unique_ptr<Caller> caller_;
};

}  // namespace semel::conformance

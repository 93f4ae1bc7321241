// A loop of one's own: what is written by hand in batches, against Guard::run_batch and run_once.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <semel/guard.h>
#include <semel/postgres.h>
#include <semel/sqlite.h>
#include <semel/version.h>

#include "benchmarks/measure.h"
#include "benchmarks/message_fields.h"
#include "benchmarks/report.h"
#include "benchmarks/server_place.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/workload.h"

namespace semel::bench {
namespace {

constexpr std::string_view kUpdate = "UPDATE account SET balance = balance + ? WHERE id = ?";

// A connection of the caller's: what is done around each batch.
class CallersConnection {
 public:
  virtual ~CallersConnection() = default;
  virtual void run(const char* sql) = 0;
  virtual Result<std::unique_ptr<Store>> borrow() = 0;
};

class PostgresCaller final : public CallersConnection {
 public:
  PostgresCaller(const std::string& url, bool prepares)
      : connection_(PQconnectdb(url.c_str())), prepares_(prepares) {
    if (PQstatus(connection_) != CONNECTION_OK) give_up(PQerrorMessage(connection_));
  }
  ~PostgresCaller() override { PQfinish(connection_); }
  void run(const char* sql) override {
    PGresult* const result = PQexec(connection_, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) give_up(PQresultErrorMessage(result));
    PQclear(result);
  }
  Result<std::unique_ptr<Store>> borrow() override {
    PostgresBorrow options;
    options.create_tables = true;
    options.prepare_statements = prepares_;
    return borrow_postgres(connection_, options);
  }

 private:
  PGconn* connection_;
  const bool prepares_;
};

class SqliteCaller final : public CallersConnection {
 public:
  explicit SqliteCaller(const std::string& path) {
    if (sqlite3_open(path.c_str(), &connection_) != SQLITE_OK) give_up(path);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768");
  }
  ~SqliteCaller() override { sqlite3_close_v2(connection_); }
  void run(const char* sql) override {
    if (sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
      give_up(sqlite3_errmsg(connection_));
    }
  }
  Result<std::unique_ptr<Store>> borrow() override {
    return borrow_sqlite(connection_, {.create_tables = true});
  }

 private:
  sqlite3* connection_ = nullptr;
};

using Connect = std::function<std::unique_ptr<CallersConnection>(const SocketDirectory&)>;

// A store of Semel's, where `connect` is empty; else one over the caller's connection.
struct GuardCase {
  std::string name;
  std::function<std::unique_ptr<SocketDirectory>()> make_place;
  Connect connect;
};

class GuardBench {
 public:
  explicit GuardBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.pick<std::size_t>(1, 5, 7)),
        many_(options.pick<std::size_t>(300, 30'000, 200'000)) {}

  void run() {
    report_.header({fmt::format(
        "Semel {}; {} byte messages, {} rounds of {} in batches of {} (naive: run_once, {})",
        version(), kPayload, rounds_, many_, kBatch, many_ / kFewer)});
    const test::PostgresServer server(postgres_options(options_));
    const auto sqlite = [this] {
      return make_sqlite_place(fmt::format("{}/{}.db", options_.folder, ++files_));
    };
    const auto postgres = [&] { return make_postgres_place(server, kRows); };
    const auto lent = [](bool prepares) -> Connect {
      return [prepares](const SocketDirectory& place) {
        return std::make_unique<PostgresCaller>(place.url(), prepares);
      };
    };
    measure({"sqlite-own", sqlite, nullptr});
    measure({"sqlite-borrowed", sqlite, [](const SocketDirectory& place) {
               return std::make_unique<SqliteCaller>(place.url());
             }});
    measure({"postgres-own", postgres, nullptr});
    measure({"postgres-borrowed", postgres, lent(true)});
    measure({"postgres-borrowed-unprepared", postgres, lent(false)});
    report_.finish();
  }

 private:
  static constexpr std::size_t kFewer = 10;  // messages one by one

  void measure(const GuardCase& kind) {
    Case one;
    one.name = kind.name;
    one.batch = kBatch;
    one.what = "claim + UPDATE; raw: by hand, naive: run_once, semel: run_batch";
    one.raw = [&] {
      const auto place = kind.make_place();
      const auto payloads = messages(many_);
      const double rate = place->by_hand(Work::kEffects)->consume(payloads, kBatch);
      StoreBench::check_sum(*place, payloads);
      return rate;
    };
    one.naive = [&] { return guarded(kind, messages(many_ / kFewer), 1); };
    one.semel = [&] { return guarded(kind, messages(many_), kBatch); };
    report_.run(one, rounds_);
  }

  double guarded(const GuardCase& kind, const std::vector<std::string>& payloads,
                 std::size_t batch) {
    const auto place = kind.make_place();
    const auto caller = kind.connect ? kind.connect(*place) : nullptr;
    std::unique_ptr<Store> store;
    if (caller) {
      auto lent = caller->borrow();
      if (!lent) give_up(lent.error().message);
      store = *std::move(lent);
    } else {
      store = place->open();
    }
    Guard guard(*store, {.consumer = "bench"});
    const Stopwatch watch;
    run_all(guard, caller.get(), payloads, batch, Outcome::Kind::kDone);
    const double rate = static_cast<double>(payloads.size()) / watch.seconds();
    if (options_.smoke()) {
      run_all(guard, caller.get(), payloads, batch, Outcome::Kind::kDuplicate);
    }
    StoreBench::check_sum(*place, payloads);
    return rate;
  }

  void run_all(Guard& guard, CallersConnection* caller, const std::vector<std::string>& payloads,
               std::size_t batch, Outcome::Kind wanted) {
    std::vector<Fields> fields(batch);
    std::vector<BatchMessage> messages(batch);
    std::size_t ended = 0;
    for (std::size_t first = 0; first < payloads.size(); first += batch) {
      const std::size_t count = std::min(batch, payloads.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const std::string& payload = payloads[first + i];
        parser_.parse(payload, fields[i]);
        messages[i].key = std::string_view(payload).substr(kIdAt, kIdSize);
        std::memcpy(messages[i].fingerprint.bytes.data(), fields[i].digest, Fingerprint::kSize);
      }
      if (caller != nullptr) caller->run("BEGIN");
      const auto work = [&](std::size_t i, Transaction& tx) {
        tx.exec(kUpdate, static_cast<std::int64_t>(fields[i].amount),
                static_cast<std::int64_t>(fields[i].account));
      };
      if (batch == 1) {
        const auto outcome = guard.run_once(messages[0].key, messages[0].fingerprint,
                                            [&](Transaction& tx) { work(0, tx); });
        if (!outcome) give_up(outcome.error().message);
        if (outcome->kind == wanted) ++ended;
      } else {
        for (const auto& outcome : guard.run_batch({messages.data(), count}, work)) {
          if (!outcome) give_up(outcome.error().message);
          if (outcome->kind == wanted) ++ended;
        }
      }
      if (caller != nullptr) caller->run("COMMIT");
    }
    check_count(ended, payloads.size(), "messages ended as they must");
  }

  std::vector<std::string> messages(std::size_t count) {
    return make_payloads(count, Keys::kOrdered, ++seed_);
  }

  static constexpr std::size_t kIdAt = 7;
  static constexpr std::size_t kIdSize = 36;
  const Options options_;
  Report report_;
  const std::size_t rounds_;
  const std::size_t many_;
  Parser parser_;
  std::size_t files_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::GuardBench(options).run();
  });
}

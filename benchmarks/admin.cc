// The cost of the admin listener's clients for a run: the same file of messages, with and without
// them; and claims over HTTP, against calls of the store.
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/admin_clients.h"
#include "benchmarks/by_hand.h"
#include "benchmarks/http_claims.h"
#include "benchmarks/measure.h"
#include "benchmarks/report.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/workload.h"
#include "tests/support/http_get.h"
#include "tests/support/server_address.h"

namespace semel::bench {
namespace {

constexpr std::size_t kIdle = 200;
constexpr std::size_t kBusy = 50;
constexpr std::size_t kClaimsAtOnce = 100;
constexpr const char* kSecret = "the-secret-of-the-mailers";
constexpr std::chrono::milliseconds kBetweenLooks{10};
constexpr std::chrono::seconds kRunPatience{120};

// `semel run` with an admin listener.
class Program {
 public:
  // `config`: all of it but the listener, which gets `auth`.
  Program(const Options& options, const std::string& database, std::uint16_t port,
          const std::string& config, const std::string& auth = {})
      : port_(port) {
    const std::string file = database + ".yaml";
    std::ofstream(file) << fmt::format(
        "store: {{ sqlite: {{ path: {} }} }}\n"
        "admin: {{ listen: 127.0.0.1:{}{} }}\n{}",
        database, port, auth, config);
    std::string words[] = {"semel", "run", file, "-q"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawn(&pid_, options.program.c_str(), nullptr, nullptr, arguments.data(),
                      environ) != 0) {
      give_up(options.program + " cannot be run");
    }
    wait("it is ready", [&] { return test::http_get(port_, "/readyz").status == 200; });
  }
  ~Program() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  template <class IsTrue>
  void wait(const char* what, IsTrue is_true) const {
    const auto last = std::chrono::steady_clock::now() + kRunPatience;
    while (!is_true()) {
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) give_up("the program ended");
      if (std::chrono::steady_clock::now() > last) give_up(fmt::format("never: {}", what));
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

 private:
  const std::uint16_t port_;
  pid_t pid_ = 0;
};

// One over a file that is empty at first.
class MessagesRun {
 public:
  MessagesRun(const Options& options, const std::string& database, std::uint16_t port)
      : messages_(emptied(database + ".jsonl")),
        program_(options, database, port,
                 fmt::format("consumers:\n"
                             "  - name: payments\n"
                             "    source: {{ file: {{ path: {}, from: start }} }}\n"
                             "    key: {{ from: [json:/id] }}\n"
                             "    handler:\n"
                             "      sql:\n"
                             "        params: {{ amount: json:/amount, account: json:/account }}\n"
                             "        statements: [\"{}\"]\n",
                             messages_, kEffect)) {}

  std::uint16_t port() const noexcept { return program_.port(); }
  // Appends them, and waits for their effects; messages per second.
  double handle(const std::vector<std::string>& payloads) {
    std::string lines;
    for (const std::string& payload : payloads) lines += payload + "\n";
    const Stopwatch watch;
    std::ofstream(messages_, std::ios::binary | std::ios::app) << lines;
    program_.wait("all have had their effect", [&] { return effects() >= payloads.size(); });
    return static_cast<double>(payloads.size()) / watch.seconds();
  }

 private:
  static std::string emptied(std::string path) {
    std::ofstream(path, std::ios::binary).close();
    return path;
  }
  std::size_t effects() const {
    const std::string metrics = test::http_get(port(), "/metrics").body;
    constexpr std::string_view kSeries = "\nsemel_effects_total{consumer=\"payments\"} ";
    const auto at = metrics.find(kSeries);
    return at == std::string::npos
               ? 0
               : static_cast<std::size_t>(std::atoll(metrics.c_str() + at + kSeries.size()));
  }

  const std::string messages_;
  Program program_;
};

class AdminBench {
 public:
  explicit AdminBench(const Options& options)
      : options_(options),
        report_(options),
        payloads_(make_payloads(options.pick<std::size_t>(2'000, 300'000, 1'000'000),
                                Keys::kOrdered, 11)),
        keys_(options.pick<std::size_t>(1'000, 100'000, 500'000)) {}

  void run() {
    report_.header({fmt::format("semel run, SQLite, a file of {} messages", payloads_.size())});
    Case measured;
    measured.name = "clients-250";
    measured.batch = 100;
    measured.raw = [this] { return side(0, 0); };
    measured.semel = [this] { return side(kIdle, kBusy); };
    measured.what = fmt::format(
        "raw: nobody asks but the bench; semel: {} idle clients, {} that ask once a second", kIdle,
        kBusy);
    measure(measured);
    measured.name = "claims-100";
    measured.batch = kClaimsAtOnce;
    measured.raw = [this] {
      const auto place = make_sqlite_place(next_path());
      return claim_on_sqlite(place->url(), keys_, kClaimsAtOnce);
    };
    measured.semel = [this] { return claims_side(); };
    measured.what = "raw: calls of a SQLite store; semel: the same of a run, over HTTP";
    measure(measured);
    report_.finish();
  }

 private:
  void measure(const Case& measured) {
    if (report_.wanted(measured.name)) {
      report_.run(measured, options_.pick<std::size_t>(1, 3, 7));
    }
  }
  std::string next_path() { return fmt::format("{}/{}.db", options_.folder, ++files_); }
  double claims_side() {
    const auto place = make_sqlite_place(next_path());
    const Program program(
        options_, place->url(), static_cast<std::uint16_t>(test::free_port()),
        "consumers: [{ name: mails, source: { claims: {} } }]\n",
        fmt::format(", auth: {{ tokens: [{{ name: mailer, secret: {}, claims: [mails] }}] }}",
                    kSecret));
    return claim_over_http(program.port(), kSecret, keys_, kClaimsAtOnce);
  }
  double side(std::size_t idle, std::size_t busy) {
    const std::string path = next_path();
    const auto place = make_sqlite_place(path);
    MessagesRun program(options_, path, static_cast<std::uint16_t>(test::free_port()));
    std::optional<AdminClients> clients;
    if (idle + busy > 0) {
      clients.emplace(program.port(), idle, busy);
      // They do what they are here for before anything is measured.
      while (clients->answered() < busy) std::this_thread::sleep_for(kBetweenLooks);
    }
    const double rate = program.handle(payloads_);
    clients.reset();
    StoreBench::check_sum(*place, sum_of_amounts(payloads_));
    return rate;
  }

  const Options options_;
  Report report_;
  const std::vector<std::string> payloads_;
  const std::size_t keys_;
  std::size_t files_ = 0;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::AdminBench(options).run();
  });
}

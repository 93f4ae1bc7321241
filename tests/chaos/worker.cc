// A consumer's process, as a user would write one: killed, stopped and started again by the tests.
//
//   worker STORE key=value…
//
// STORE: a path, or the URL of a database; of Redis with " PREFIX" behind it.
// strategy, handler (sql | native | plain | async | batch | two_part | steps), source (queue |
// file), file, ledger, once, lease, crashes, workers: as in the config. throws=N: every N-th key's
// first try throws. segfault=KEY: that message kills the process. hold=KEY: its first handler says
// "holding" on stdout and waits for hold_file to appear. say=1: says "began" at the first handler
// call. order=hold_key|block|skip: by the message's member k. fails=PERCENT: so many tries throw.
// defer: as in the config. slow=MICROSECONDS: each handler takes so long. upsert=SQL: as
// Database::upsert. steps: two of them and their undos, each noted in the ledger by its key; a
// message whose id begins with "bad" is given up after both. judged: the rows that a statement
// changes decide about its message. handler=guard_…: a loop of one's own (guard_loop.h).
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <semel/semel.h>

#include "tests/chaos/guard_loop.h"
#include "tests/support/failpoints.h"
#include "tests/support/ledger.h"
#include "tests/support/one_thread.h"

namespace {

using Settings = std::map<std::string, std::string>;

std::string get(const Settings& settings, const std::string& name, const std::string& otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

std::string store_yaml(const std::string& store, const std::string& accept,
                       const std::string& replicas) {
  if (const auto split = store.find(' '); store.starts_with("redis:")) {
    return fmt::format("redis: {{ url: \"{}\", prefix: \"{}\", wait_replicas: {}, accept: [{}] }}",
                       store.substr(0, split), store.substr(split + 1), replicas, accept);
  }
  const std::string scheme = store.substr(0, store.find("://"));
  const char* const kind = scheme == store     ? "sqlite: { path"
                           : scheme == "mysql" ? "mysql: { url"
                                               : "postgres: { url";
  return fmt::format("{}: \"{}\" }}", kind, store);
}

std::string source_yaml(const Settings& settings) {
  if (get(settings, "source", "queue") == "queue") return "queue: {}";
  return fmt::format("file: {{ path: \"{}\", from: {} }}", get(settings, "file", ""),
                     get(settings, "from", "kept"));
}

std::string handler_yaml(const Settings& settings) {
  if (get(settings, "handler", "sql") != "sql") return "      native: work\n";
  if (get(settings, "strategy", "") == "natural") {
    return "      sql:\n"
           "        params: { id: json:/id, n: json:/n }\n"
           "        statements:\n"
           "          - INSERT INTO state(name, n) VALUES (:id, :n) " +
           get(settings, "upsert", "") + "\n" +
           (settings.contains("judged")
                ? "          - sql: UPDATE state SET n = n WHERE name = :id\n"
                  "            expect_rows: 1\n"
                : "");
  }
  return std::string(
             "      sql:\n"
             "        params: { id: json:/id }\n"
             "        statements:\n"
             "          - INSERT INTO effect(name, pid) VALUES (:id, 0)\n"
             "          - sql: UPDATE total SET n = n + 1 WHERE :id = :id\n") +
         (settings.contains("judged") ? "            expect_rows: 1\n" : "");
}

// The business row of a message is its effect: there it is done, and a version higher.
std::string guard_yaml(const Settings& settings) {
  const std::string strategy = get(settings, "strategy", "");
  if (strategy == "pessimistic_lock") {
    return "    lock:\n"
           "      select: SELECT pid FROM effect WHERE name = :id FOR UPDATE\n"
           "      done_when: pid >= 0\n"
           "      params: { id: json:/id }\n";
  }
  if (strategy != "optimistic_lock") return "";
  return "    version:\n"
         "      from: json:/n\n"
         "      current: SELECT COUNT(*) + :n FROM effect WHERE name = :id\n"
         "      params: { id: json:/id, n: json:/n }\n";
}

std::string order_yaml(const Settings& settings) {
  const std::string defer = fmt::format("    defer: {}\n", get(settings, "defer", "never"));
  const auto found = settings.find("order");
  if (found == settings.end()) return defer;
  return defer + fmt::format("    order: {{ key: json:/k, on_failure: {}, max_held: {} }}\n",
                             found->second, get(settings, "max_held", "64MiB"));
}

std::string config_of(const std::string& store, const Settings& settings) {
  return fmt::format(
      "version: 1\n"
      "store:\n"
      "  {}\n"
      "consumers:\n"
      "  - name: chaos\n"
      "    source: {{ {} }}\n"
      "    key: json:/id\n"
      "    strategy: {}\n"
      "    concurrency: {}\n"
      "    dedup: {{ lease: {} }}\n"
      "    timeout: {}\n"
      "    retry: {{ attempts: 50, backoff: 10ms..50ms, crashes: {} }}\n"
      "    batch: {{ max: {} }}\n"
      "{}{}"
      "    handler:\n{}",
      store_yaml(store, get(settings, "accept", ""), get(settings, "replicas", "0")),
      source_yaml(settings), get(settings, "strategy", "dedup_table"),
      get(settings, "workers", "1"), get(settings, "lease", "60s"), get(settings, "timeout", "60s"),
      get(settings, "crashes", "3"), get(settings, "batch", "100"), order_yaml(settings),
      guard_yaml(settings), handler_yaml(settings));
}

void say(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  [[maybe_unused]] const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
}

// The acts of the handlers in addition to their effect.
class Mischief {
 public:
  explicit Mischief(const Settings& settings)
      : segfault_(get(settings, "segfault", "")),
        hold_(get(settings, "hold", "")),
        hold_file_(get(settings, "hold_file", "")),
        throws_(std::stoul(get(settings, "throws", "0"))),
        fails_(std::stoul(get(settings, "fails", "0"))),
        slow_(std::stoul(get(settings, "slow", "0"))),
        says_(get(settings, "say", "0") == "1"),
        random_(static_cast<unsigned>(::getpid())) {}

  void before(const semel::Message& message) {
    if (says_ && !said_.exchange(true)) say("began");
    if (slow_.count() > 0) std::this_thread::sleep_for(slow_);
    const std::string& key = message.key().text;
    if (key == segfault_) ::raise(SIGSEGV);
    if (key == hold_ && !held_.exchange(true)) {
      say("holding");
      struct stat there {};
      while (::stat(hold_file_.c_str(), &there) != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    if (fails_ > 0) {
      std::lock_guard lock(mutex_);
      if (random_() % 100 < fails_) throw std::runtime_error("not this time");
    }
    if (throws_ == 0 || std::hash<std::string>{}(key) % throws_ != 0) return;
    std::lock_guard lock(mutex_);
    if (thrown_.insert(key).second) throw std::runtime_error("not this time");
  }

 private:
  const std::string segfault_;
  const std::string hold_;
  const std::string hold_file_;
  const std::size_t throws_;
  const std::size_t fails_;
  const std::chrono::microseconds slow_;
  const bool says_;
  std::atomic<bool> said_{false};
  std::atomic<bool> held_{false};
  std::mutex mutex_;
  std::set<std::string> thrown_;
  std::mt19937 random_;
};

// For handlers that must not throw, because they run on a thread outside of the engine.
bool allowed(Mischief& mischief, const semel::Message& message) {
  try {
    mischief.before(message);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

class Teller final : public semel::Observer {
 public:
  explicit Teller(bool all) : all_(all) {}
  void on_ended(std::string_view, const semel::Delivery& delivery, const semel::Outcome& outcome,
                std::chrono::nanoseconds) noexcept override {
    if (all_)
      say(fmt::format("{} {}", semel::to_string(outcome.kind), delivery.message.key().text));
  }
  void on_lease_lost(std::string_view, const semel::Delivery& delivery) noexcept override {
    say("lost " + delivery.message.key().text);
  }
  void on_trouble(std::string_view consumer, std::string_view where, const semel::Error& error,
                  bool mended) noexcept override {
    fmt::print(stderr, "worker: {} {} {} {}\n", consumer, where, error.message, mended);
  }

 private:
  const bool all_;
};

void run_native(semel::Runner& runner, Mischief& mischief, bool judged) {
  runner.on("work", [&mischief, judged](const semel::Message& message, semel::Transaction& tx) {
    mischief.before(message);
    tx.exec("INSERT INTO effect(name, pid) VALUES (?, ?)", message.key().text,
            static_cast<std::int64_t>(::getpid()));
    auto update = tx.exec("UPDATE total SET n = n + 1");
    if (judged) update.expect_rows(1, semel::dead("no total"));
    return semel::done();
  });
}

void run_steps(semel::Runner& runner, Mischief& mischief, semel::test::Ledger& ledger) {
  runner.on("work", [&](const semel::Message& message, const semel::Attempt& attempt) {
    for (const char* name : {"lock", "charge"}) {
      attempt.step(name, "", [&](const semel::Bytes& key) { ledger.note(key); });
      mischief.before(message);
    }
    return message.key().text.starts_with("bad") ? semel::dead("no such order") : semel::done();
  });
  const semel::UndoHandler undo = [&](const semel::Message&, const semel::StepUndo& step,
                                      const semel::Attempt&) {
    ledger.note(step.key);
    return semel::done();
  };
  runner.steps("work", {{"lock", undo}, {"charge", undo}});
}

int run(const std::string& store, const Settings& settings) {
  semel::Runner runner = semel::Runner::from_text(config_of(store, settings));
  Mischief mischief(settings);
  std::unique_ptr<semel::test::Ledger> ledger;
  const std::string kind = get(settings, "handler", "sql");
  if (kind == "native") {
    run_native(runner, mischief, settings.contains("judged"));
  } else if (kind == "plain") {
    ledger = std::make_unique<semel::test::Ledger>(get(settings, "ledger", ""));
    runner.on("work", [&](const semel::Message& message, const semel::Attempt&) {
      mischief.before(message);
      ledger->note(message.key().text);
      return semel::done();
    });
  }
  // Answers on another thread, while the engine continues.
  semel::test::OneThread service;
  if (kind == "async") {
    ledger = std::make_unique<semel::test::Ledger>(get(settings, "ledger", ""));
    runner.on("work", [&](const semel::Message& message, const semel::Attempt&,
                          semel::Completion completion) {
      auto answer = std::make_shared<semel::Completion>(std::move(completion));
      service.run([&, answer] {
        if (!allowed(mischief, message)) return (*answer)(semel::retry("not this time"));
        ledger->note(message.key().text);
        (*answer)(semel::done());
      });
    });
  } else if (kind == "two_part") {
    ledger = std::make_unique<semel::test::Ledger>(get(settings, "ledger", ""));
    runner.on(
        "work",
        [&](const semel::Message& message, const semel::Attempt&, semel::Completion completion) {
          auto answer = std::make_shared<semel::Completion>(std::move(completion));
          service.run([&, answer] {
            if (!allowed(mischief, message)) return (*answer)(semel::retry("not this time"));
            ledger->note(message.key().text);
            (*answer)(semel::done("for " + message.key().text));
          });
        },
        [](const semel::Message& message, const semel::Bytes& answer, semel::Transaction& tx) {
          if (answer != "for " + message.key().text) return semel::dead("another's answer");
          tx.exec("INSERT INTO effect(name, pid) VALUES (?, 0)", message.key().text);
          tx.exec("UPDATE total SET n = n + 1");
          return semel::done();
        });
  } else if (kind == "steps") {
    ledger = std::make_unique<semel::test::Ledger>(get(settings, "ledger", ""));
    run_steps(runner, mischief, *ledger);
  } else if (kind == "batch") {
    ledger = std::make_unique<semel::test::Ledger>(get(settings, "ledger", ""));
    runner.on("work", [&](std::span<const semel::Message* const> messages,
                          std::span<const semel::Attempt>) {
      for (const semel::Message* message : messages) {
        mischief.before(*message);
        ledger->note(message->key().text);
      }
      return std::vector<semel::Verdict>(messages.size(), semel::done());
    });
  }
  Teller teller(get(settings, "tell", "0") == "1");
  runner.observe(teller);
  runner.once(get(settings, "once", "1") == "1");
  return runner.run();
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t split = word.find('=');
    if (split != std::string::npos) settings[word.substr(0, split)] = word.substr(split + 1);
  }
  if (argc < 2) return 2;
  semel::test::install_failpoints_from_environment();
  try {
    if (get(settings, "handler", "").starts_with("guard_")) {
      return semel::test::run_guard_loop(argv[1], settings);
    }
    return run(argv[1], settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "worker: {}\n", error.what());
    return 78;
  }
}

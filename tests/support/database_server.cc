#include "tests/support/database_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kStep{10};
// A look needs the processor too, which the server starts on.
constexpr int kStepForEachLook = 4;
constexpr milliseconds kLongestStep{100};
constexpr seconds kStartPatience{60};
constexpr seconds kStopPatience{20};
constexpr int kStarts = 20;
constexpr auto kAll = std::filesystem::copy_options::recursive;
constexpr std::size_t kTail = 3'000;

// Another program took the port between its choice and its use.
bool tells_of_a_taken_port(std::string_view log) {
  constexpr std::string_view kWords[] = {"ddress already in use", "dist_port_already_used",
                                         "eaddrinuse"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view words) {
    return log.find(words) != std::string_view::npos;
  });
}

}  // namespace

DatabaseServer::DatabaseServer(std::string name, PlainUser user, bool keep_pristine)
    : name_(std::move(name)), user_(user), keep_pristine_(keep_pristine), folder_(std::in_place) {
  give_to_user(folder());
}

DatabaseServer::DatabaseServer(std::string name, const std::optional<ServerAddress>& found,
                               PlainUser user)
    : name_(std::move(name)), user_(user) {
  if (found) {
    address_ = *found;
    return;
  }
  folder_.emplace();
  give_to_user(folder());
}

DatabaseServer::~DatabaseServer() = default;

void DatabaseServer::end() noexcept {
  try {
    if (folder_) {
      // The data are not read again, so nothing has to be written first.
      if (process_) kill();
      return;
    }
    for (const std::string& database : databases_) {
      query(home_database(), drop_statement(database));
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
}

void DatabaseServer::give_to_user(const std::string& path) const {
  if (!user_.user) return;
  const auto give = [&](const std::filesystem::path& one) {
    if (::lchown(one.c_str(), *user_.user, *user_.group) != 0) {
      throw std::runtime_error("cannot give away " + one.string());
    }
  };
  give(path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) give(entry.path());
}

ServerCommand DatabaseServer::command(std::vector<std::string> arguments) const {
  return {.arguments = std::move(arguments),
          .folder = folder(),
          .output = address_.log,
          .user = user_.user,
          .group = user_.group,
          .at_parents_death = signal_at_parents_death()};
}

void DatabaseServer::make_data() {
  const auto shared = find_shared_server(name_);
  if (shared && !shared->pristine.empty()) {
    std::filesystem::copy(shared->pristine, data(), kAll);
    give_to_user(data());
    return;
  }
  if (run_to_end(command(maker())) != 0) {
    throw std::runtime_error(name_ + " cannot make its data:\n" + log_tail());
  }
  if (!keep_pristine_) return;
  address_.pristine = folder_->file("pristine");
  std::filesystem::copy(data(), address_.pristine, kAll);
}

bool DatabaseServer::start_once() {
  told_before_ = read_file(address_.log).size();
  process_ = std::make_unique<ServerProcess>(command(server()));
  address_.pid = process_->pid();
  const auto end = steady_clock::now() + kStartPatience;
  while (steady_clock::now() < end) {
    const auto look = steady_clock::now();
    if (answers()) return true;
    const auto looked = std::chrono::duration_cast<milliseconds>(steady_clock::now() - look);
    if (process_->wait(std::clamp(kStepForEachLook * looked, kStep, kLongestStep))) return false;
    // Not every server ends when it cannot have a port.
    if (tells_of_a_taken_port(log_of_this_start())) {
      process_->kill();
      return false;
    }
  }
  process_->kill();
  throw std::runtime_error(name_ + " does not answer:\n" + log_tail());
}

void DatabaseServer::choose_port() {
  address_.port = free_port();
  address_.socket = socket_path();
}

void DatabaseServer::be_away() {
  address_.log = folder_->file("log");
  make_data();
  choose_port();
}

void DatabaseServer::start() {
  const bool first = address_.log.empty();
  if (first) be_away();
  for (int i = 0; i < kStarts; ++i) {
    if (first && i > 0) choose_port();
    if (start_once()) return;
    if (!tells_of_a_taken_port(log_of_this_start())) break;
    // The port is outside the range of clients, so a program that has it keeps it for a while.
    if (!first) std::this_thread::sleep_for(seconds(1));
  }
  throw std::runtime_error(name_ + " does not start:\n" + log_tail());
}

void DatabaseServer::kill() {
  process_->kill();
  after_kill();
}

void DatabaseServer::stop() {
  if (!process_) return;
  for (const int number : stop_signals()) {
    process_->signal(number);
    if (process_->wait(kStopPatience)) return;
  }
  kill();
}

bool DatabaseServer::running() const { return process_ && process_->running(); }

std::string DatabaseServer::query(const std::string& database, const std::string& sql) const {
  return open_session(database)->query(sql);
}

std::unique_ptr<DatabaseServer::Session> DatabaseServer::open_session(const std::string&) const {
  throw std::logic_error(name_ + " has no sessions");
}

std::string DatabaseServer::new_database() const {
  static std::atomic<int> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string name = fmt::format("test_{}_{}_{}", ::getpid(), now.count() / 1'000'000, count++);
  query(home_database(), make_statement(name));
  const std::scoped_lock lock(mutex_);
  databases_.push_back(name);
  return name;
}

std::string DatabaseServer::log_of_this_start() const {
  return read_file(address_.log).substr(told_before_);
}

std::string DatabaseServer::log_tail() const {
  const std::string log = read_file(address_.log);
  return log.substr(log.size() - std::min(log.size(), kTail));
}

}  // namespace semel::test

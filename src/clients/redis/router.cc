#include "clients/redis/router.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "clients/redis/error_table.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Redirections that are followed without a pause: the first one already corrects an old map.
constexpr int kMostHops = 16;
constexpr milliseconds kFirstPause{5};
constexpr milliseconds kLongestPause{200};
// No bundles for this long after a call was refused in one: its slot is moving, or something
// between us and the nodes hides its owner.
constexpr milliseconds kWithoutBundles{1'000};

// The target of a redirection; nullopt if the text names no endpoint.
std::optional<Endpoint> redirection_in(std::string_view text, const std::string& own_host) {
  const auto at = text.rfind(' ');
  if (at == std::string_view::npos) return std::nullopt;
  Endpoint endpoint = parse_endpoint(text.substr(at + 1), own_host);
  if (endpoint.port == 0) return std::nullopt;
  return endpoint;
}

bool is_bad_moment(std::string_view word) {
  constexpr std::string_view kWords[] = {"TRYAGAIN",   "CLUSTERDOWN", "LOADING",
                                         "MASTERDOWN", "READONLY",    "UNBLOCKED"};
  return std::ranges::find(kWords, word) != std::ranges::end(kWords);
}

// Doubles each time, with a random part so that two processes that collided do not collide again.
class Pause {
 public:
  explicit Pause(Random& random) : random_(random) {}
  void wait() {
    const auto most = static_cast<std::uint64_t>(next_.count());
    std::this_thread::sleep_for(milliseconds(most / 2 + random_.next() % (most + 1)));
    next_ = std::min(next_ * 2, kLongestPause);
  }

 private:
  Random& random_;
  milliseconds next_ = kFirstPause;
};

}  // namespace

Router::Router(const Target& target, std::size_t kept, bool cluster, Confirm confirm,
               Random& random)
    : patience_(target.answer_timeout),
      cluster_(cluster),
      confirm_(std::move(confirm)),
      random_(random),
      nodes_(target, kept, random) {}

Masters Router::masters() { return cluster_ ? nodes_.masters() : nodes_.named(); }

std::shared_ptr<Node> Router::owner(std::string_view name) {
  return cluster_ ? nodes_.owner(name) : nodes_.named().front();
}

std::unique_ptr<Connection> Router::connect_to(Node& node) {
  const std::uint64_t seen = nodes_.version();
  try {
    return std::make_unique<Connection>(node.target);
  } catch (const core::Failure&) {
    nodes_.mark_stale(seen);
    throw;
  }
}

std::vector<Reply> Router::run_one_server(const Script& script, std::span<const Call> calls,
                                          Loss loss) {
  PooledConnection connection(nodes_.named().front()->pool);
  std::vector<Reply> replies = script.run(*connection, calls, loss);
  if (!confirms(loss) || !any_done(replies)) return replies;
  ask_to_confirm(*connection, confirm_, confirm_.name);
  try {
    need_confirmed(connection->run(loss), confirm_);
  } catch (const core::Failure& failed) {
    throw in_doubt(failed);  // the calls were answered
  }
  return replies;
}

std::vector<Reply> Router::run(const Script& script, std::span<const Call> calls, Loss loss) {
  if (!cluster_) return run_one_server(script, calls, loss);
  if (script.bundles() && calls.size() > 1 && steady_clock::now() >= no_bundles_until_.load()) {
    return run_bundled(script, calls, loss);
  }
  std::vector<std::size_t> all(calls.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return run_alone(script, calls, all, loss);
}

std::vector<Reply> Router::run_alone(const Script& script, std::span<const Call> calls,
                                     std::span<const std::size_t> which, Loss loss) {
  std::vector<Task> tasks;
  tasks.reserve(which.size());
  for (const std::size_t i : which) {
    Task& task = tasks.emplace_back();
    const Call& call = calls[i];
    task.name = call.keys.at(0);
    task.slot = cluster_slot(task.name);
    task.send = [&script, &call](Connection& connection, bool with_text) {
      script.send(connection, call, with_text, true);
    };
  }
  return route(std::move(tasks), loss);
}

std::vector<std::vector<std::size_t>> Router::bundles_of(std::span<const Call> calls) {
  nodes_.need_map();
  std::vector<std::vector<std::size_t>> bundles;
  struct Open {
    std::size_t bundle = 0, keys = 0, bytes = 0;
  };
  std::map<const Node*, Open> open_at;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const std::shared_ptr<Node> owner = nodes_.owner_of(cluster_slot(call.keys.at(0)));
    if (!owner) continue;
    const auto [at, is_new] = open_at.try_emplace(owner.get());
    Open& open = at->second;
    const std::size_t bytes = call.keys.bytes() + call.arguments.bytes();
    if (is_new || open.keys + call.keys.size() > kMostKeys || open.bytes + bytes > kMostBytes) {
      open = {bundles.size(), 0, 0};
      bundles.emplace_back();
    }
    open.keys += call.keys.size();
    open.bytes += bytes;
    bundles[open.bundle].push_back(i);
  }
  return bundles;
}

// A call that is refused in a bundle is sent alone: it then follows its slot, or learns the reason.
std::vector<Reply> Router::run_bundled(const Script& script, std::span<const Call> calls,
                                       Loss loss) {
  const auto bundles = bundles_of(calls);
  std::vector<Task> tasks;
  tasks.reserve(bundles.size());
  for (const auto& bundle : bundles) {
    Task& task = tasks.emplace_back();
    task.name = calls[bundle.front()].keys.at(0);
    task.slot = cluster_slot(task.name);
    task.send = [&script, calls, &bundle](Connection& connection, bool with_text) {
      script.send_bundle(connection, calls, bundle, with_text);
    };
  }
  std::vector<Reply> told = route(std::move(tasks), loss);
  std::vector<Reply> replies(calls.size());
  std::vector<char> done(calls.size());
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    if (told[i].list.size() != bundles[i].size()) continue;
    for (std::size_t k = 0; k < bundles[i].size(); ++k) {
      Reply& reply = told[i].list[k];
      if (reply.kind == Reply::Kind::kNil) continue;
      done[bundles[i][k]] = 1;
      replies[bundles[i][k]] = std::move(reply);
    }
  }
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (done[i] == 0) rest.push_back(i);
  }
  if (rest.empty()) return replies;
  no_bundles_until_ = steady_clock::now() + kWithoutBundles;
  try {
    std::vector<Reply> alone = run_alone(script, calls, rest, loss);
    for (std::size_t i = 0; i < rest.size(); ++i) replies[rest[i]] = std::move(alone[i]);
  } catch (const core::Failure& failed) {
    if (rest.size() == calls.size() || loss == Loss::kNothingDone) throw;
    throw in_doubt(failed);
  }
  return replies;
}

std::vector<Reply> Router::ask_all(std::span<const Question> questions, Loss loss) {
  if (questions.empty()) return {};
  if (!cluster_) {
    PooledConnection connection(nodes_.named().front()->pool);
    for (const Question& one : questions) connection->send(one.words);
    return connection->run(loss);
  }
  std::vector<Task> tasks;
  tasks.reserve(questions.size());
  for (const Question& one : questions) {
    Task& task = tasks.emplace_back();
    task.name = one.name;
    task.slot = cluster_slot(one.name);
    task.send = [&one](Connection& connection, bool) { connection.send(one.words); };
  }
  return route(std::move(tasks), loss);
}

Reply Router::ask(const std::vector<BytesView>& words, Loss loss) {
  const Question question{words.at(1), words};
  std::vector<Reply> replies = ask_all({&question, 1}, loss);
  if (replies.front().is_error()) throw failure_of(replies.front());
  return std::move(replies.front());
}

std::vector<Reply> Router::route(std::vector<Task> tasks, Loss loss) {
  std::vector<Reply> replies(tasks.size());
  bool done_some = false;
  try {
    route_all(tasks, replies, done_some, loss);
  } catch (const core::Failure& failed) {
    if (loss == Loss::kInDoubt && done_some) throw in_doubt(failed);
    throw;
  }
  return replies;
}

void Router::route_all(std::span<Task> tasks, std::vector<Reply>& replies, bool& done_some,
                       Loss loss) {
  std::vector<std::size_t> pending(tasks.size());
  for (std::size_t i = 0; i < pending.size(); ++i) pending[i] = i;
  const auto until = steady_clock::now() + patience_;
  Pause pause(random_);
  for (int rounds = 1; !pending.empty(); ++rounds) {
    Round round;
    const std::uint64_t seen = nodes_.version();
    std::vector<std::size_t> again;
    std::vector<Share> shares = shares_of(tasks, pending, again, round);
    for (Share& share : shares) send(share, tasks, loss);
    for (Share& share : shares) read(share, tasks, replies, again, round, loss);
    if (round.doubt) {
      if (round.stale) nodes_.mark_stale(seen);
      throw core::Failure(*round.doubt);
    }
    done_some = done_some || round.done_some;
    std::ranges::sort(again);
    pending = std::move(again);
    if (pending.empty()) break;
    if (round.pause || rounds >= kMostHops) {
      if (steady_clock::now() >= until) {
        if (round.stale) nodes_.mark_stale(seen);
        if (!round.lost) break;  // with the errors as replies
        throw core::Failure(*round.lost);
      }
      pause.wait();
    }
    // If no node returns a map, the next round reports the cause.
    if (round.stale) nodes_.try_to_refresh(seen);
  }
}

std::vector<Router::Share> Router::shares_of(std::span<const Task> tasks,
                                             std::span<const std::size_t> pending,
                                             std::vector<std::size_t>& again, Round& round) {
  std::map<Node*, std::size_t> share_of;
  std::vector<Share> shares;
  nodes_.need_map();
  for (const std::size_t i : pending) {
    auto node = tasks[i].asking ? tasks[i].asking : nodes_.owner_of(tasks[i].slot);
    if (!node) {
      round.pause = round.stale = true;
      round.lost = core::Failure(
          {ErrorKind::kUnavailable, "R250", "no node of the Redis Cluster has the slot of a record",
           "redis-cli --cluster check tells what is missing"},
          1);
      again.push_back(i);
      continue;
    }
    const auto [at, is_new] = share_of.try_emplace(node.get(), shares.size());
    if (is_new) shares.push_back({std::move(node), nullptr, {}});
    shares[at->second].tasks.push_back(i);
  }
  std::erase_if(shares, [&](Share& share) {
    try {
      share.connection = share.node->pool.lend();
      return false;
    } catch (const core::Failure& failed) {
      if (failed.error().kind != ErrorKind::kUnavailable) throw;
      round.pause = round.stale = true;
      round.lost = failed;
      again.insert(again.end(), share.tasks.begin(), share.tasks.end());
      return true;
    }
  });
  return shares;
}

void Router::send(Share& share, std::span<const Task> tasks, Loss loss) {
  for (const std::size_t i : share.tasks) {
    if (tasks[i].asking) share.connection->send({"ASKING"});
    tasks[i].send(*share.connection, tasks[i].with_text);
  }
  if (confirms(loss)) {
    const Task& last = tasks[share.tasks.back()];
    if (last.asking) share.connection->send({"ASKING"});
    ask_to_confirm(*share.connection, confirm_, name_beside(last.name, confirm_.name));
  }
  share.connection->begin();
}

void Router::read(Share& share, std::span<Task> tasks, std::vector<Reply>& replies,
                  std::vector<std::size_t>& again, Round& round, Loss loss) {
  std::vector<Reply> told;
  try {
    told = share.connection->run(loss);
  } catch (const core::Failure& failed) {
    share.node->pool.give_back(std::move(share.connection));
    if (failed.error().kind == ErrorKind::kInDoubt) {
      round.stale = true;
      round.doubt = failed;
      return;
    }
    if (failed.error().kind != ErrorKind::kUnavailable) throw;
    round.pause = round.stale = true;
    round.lost = failed;
    again.insert(again.end(), share.tasks.begin(), share.tasks.end());
    return;
  }
  std::size_t at = 0;
  const Task* done = nullptr;
  bool asked = false;
  for (const std::size_t i : share.tasks) {
    const bool asking = tasks[i].asking != nullptr;
    if (asking) ++at;
    Reply& reply = told[at++];
    if (goes_again(tasks[i], reply, share, round)) again.push_back(i);
    if (!reply.is_error()) {
      done = &tasks[i];
      asked = asking;
    }
    replies[i] = std::move(reply);
  }
  round.done_some = round.done_some || done != nullptr;
  try {
    if (confirms(loss) && done != nullptr) {
      // The slot of the last task may be elsewhere; that of one that was done is here.
      if (confirms_nothing(told)) told = confirm_beside(*share.connection, done->name, asked);
      need_confirmed(told, confirm_);
    }
  } catch (const core::Failure& failed) {
    round.doubt = in_doubt(failed);
  }
  share.node->pool.give_back(std::move(share.connection));
}

std::vector<Reply> Router::confirm_beside(Connection& connection, BytesView name, bool asking) {
  if (asking) connection.send({"ASKING"});
  ask_to_confirm(connection, confirm_, name_beside(name, confirm_.name));
  return connection.run(Loss::kInDoubt);
}

bool Router::goes_again(Task& task, const Reply& reply, const Share& share, Round& round) {
  task.asking = nullptr;
  if (!reply.is_error()) return false;
  const std::string_view word = word_of(reply.bytes);
  if (word == "NOSCRIPT") {
    task.with_text = true;
    return true;
  }
  if (is_bad_moment(word)) {
    round.pause = round.stale = true;
    return true;
  }
  if (word != "MOVED" && word != "ASK") return false;
  const auto endpoint = redirection_in(reply.bytes, share.node->target.host);
  if (!endpoint) return false;
  if (word == "ASK") {
    task.asking = nodes_.at(*endpoint);
    return true;
  }
  nodes_.moved(task.slot, *endpoint);
  round.stale = true;
  return true;
}

}  // namespace semel::redis

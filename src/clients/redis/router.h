// Router: sends each command to the server that has to answer it.
//
// A single server answers all. On a Cluster, the name that a command is about decides: the owner of
// its slot answers. Commands for several nodes are sent to all of them before any reply is read.
//
// Redirections (MOVED, ASK) are followed. A command that comes at a bad moment (its slot is moving,
// its node is lost or loading, no master owns the slot) is sent again after a pause, for as long as
// the answer timeout of the URL.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <semel/environment.h>

#include "clients/redis/confirm.h"
#include "clients/redis/nodes.h"
#include "clients/redis/script.h"

namespace semel::redis {

// A command, and the name that it is about.
struct Question {
  BytesView name;
  std::vector<BytesView> words;
};

// Thread-safe.
class Router {
 public:
  // `kept`: how many idle connections to each node stay open. Does not connect.
  Router(const Target& target, std::size_t kept, bool cluster, Confirm confirm, Random& random);

  bool is_cluster() const noexcept { return cluster_; }
  const Confirm& confirm() const noexcept { return confirm_; }

  // Runs the script for each of the calls, sent together; the first key of each call chooses its
  // node. Replies may be errors. Throws core::Failure if a reply is missing; its kind is in doubt
  // if `loss` says so and something may have been done.
  std::vector<Reply> run(const Script& script, std::span<const Call> calls, Loss loss);
  // The same for commands.
  std::vector<Reply> ask_all(std::span<const Question> questions, Loss loss);
  // One command, which is about its second word. Throws core::Failure also if it is refused.
  Reply ask(const std::vector<BytesView>& words, Loss loss);

  // Every node that owns slots. Throws core::Failure if no node tells which they are.
  Masters masters();
  // On a Cluster, how the replicas are reached that the last masters() found.
  std::vector<Target> replicas() { return nodes_.replicas(); }
  // The node that answers commands about this name. Throws core::Failure.
  std::shared_ptr<Node> owner(std::string_view name);
  // A connection to it for the caller's own use. Throws core::Failure; the next call then looks
  // whether another node has taken over.
  std::unique_ptr<Connection> connect_to(Node& node);

 private:
  // One command of those sent together; it has one reply.
  struct Task {
    BytesView name;  // one of those that it is about
    std::uint16_t slot = 0;
    std::function<void(Connection&, bool with_text)> send;
    bool with_text = false;        // the node does not know the script
    std::shared_ptr<Node> asking;  // where ASK redirected it, for this once
  };
  struct Share {
    std::shared_ptr<Node> node;
    std::unique_ptr<Connection> connection;
    std::vector<std::size_t> tasks;
  };
  // How a round ended for the tasks that go again.
  struct Round {
    bool pause = false;
    bool stale = false;                  // the map is
    bool done_some = false;              // a task was carried out
    std::optional<core::Failure> lost;   // nothing was done
    std::optional<core::Failure> doubt;  // something may have been done
  };

  std::vector<Reply> run_one_server(const Script& script, std::span<const Call> calls, Loss loss);
  std::vector<Reply> run_alone(const Script& script, std::span<const Call> calls,
                               std::span<const std::size_t> which, Loss loss);
  std::vector<Reply> run_bundled(const Script& script, std::span<const Call> calls, Loss loss);
  // Groups calls by their node; a call whose slot has no owner is in no group.
  std::vector<std::vector<std::size_t>> bundles_of(std::span<const Call> calls);
  std::vector<Reply> route(std::vector<Task> tasks, Loss loss);
  // `done_some` says also of a call that throws whether a task was carried out.
  void route_all(std::span<Task> tasks, std::vector<Reply>& replies, bool& done_some, Loss loss);
  // Groups tasks by the node that is to answer; a task without one goes again.
  std::vector<Share> shares_of(std::span<const Task> tasks, std::span<const std::size_t> pending,
                               std::vector<std::size_t>& again, Round& round);
  void send(Share& share, std::span<const Task> tasks, Loss loss);
  bool confirms(Loss loss) const noexcept { return confirm_.wanted() && loss == Loss::kInDoubt; }
  // Adds to `again` the tasks that go again.
  void read(Share& share, std::span<Task> tasks, std::vector<Reply>& replies,
            std::vector<std::size_t>& again, Round& round, Loss loss);
  // Asks once more, with a write beside this name.
  std::vector<Reply> confirm_beside(Connection& connection, BytesView name, bool asking);
  bool goes_again(Task& task, const Reply& reply, const Share& share, Round& round);

  const std::chrono::milliseconds patience_;
  const bool cluster_;
  const Confirm confirm_;
  Random& random_;
  Nodes nodes_;
  std::atomic<std::chrono::steady_clock::time_point> no_bundles_until_{};
};

}  // namespace semel::redis

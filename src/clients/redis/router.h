// Router: sends each command to the server that has to answer it.
//
// A single server answers everything. On a Cluster, the name that a command is about selects the
// owner of its slot. Commands for several nodes are sent to all of them before any reply is read.
//
// It follows redirections (MOVED, ASK). A command that cannot be answered now (its slot is moving,
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
  // `kept`: the number of idle connections to each node that stay open. Does not connect.
  Router(const Target& target, std::size_t kept, bool cluster, Confirm confirm, Random& random);

  bool is_cluster() const noexcept { return cluster_; }
  const Confirm& confirm() const noexcept { return confirm_; }

  // Runs the script for each of the calls, sent together; the first key of each call chooses its
  // node. Replies may be errors. Throws core::Failure if a reply is missing; its kind is in doubt
  // if `loss` says so and something may have been done.
  std::vector<Reply> run(const Script& script, std::span<const Call> calls, Loss loss);
  // The same for commands.
  std::vector<Reply> ask_all(std::span<const Question> questions, Loss loss);
  // One command whose second word is the name. Throws core::Failure also if it is refused.
  Reply ask(const std::vector<BytesView>& words, Loss loss);

  // Every node that owns slots. Throws core::Failure if no node returns the map.
  Masters masters();
  // On a Cluster, the targets of the replicas that the last masters() found.
  std::vector<Target> replicas() { return nodes_.replicas(); }
  // The node that answers commands about this name. Throws core::Failure.
  std::shared_ptr<Node> owner(std::string_view name);
  // A connection to the node for the caller's own use. Throws core::Failure; the next call then
  // checks whether another node has taken over.
  std::unique_ptr<Connection> connect_to(Node& node);

 private:
  // One command of those sent together; it has one reply.
  struct Task {
    BytesView name;  // one of the names that it is about
    std::uint16_t slot = 0;
    std::function<void(Connection&, bool with_text)> send;
    bool with_text = false;        // the node does not know the script
    std::shared_ptr<Node> asking;  // the node that ASK redirected it to, for one try
  };
  struct Share {
    std::shared_ptr<Node> node;
    std::unique_ptr<Connection> connection;
    std::vector<std::size_t> tasks;
  };
  // The result of a round for the tasks that must be sent again.
  struct Round {
    bool pause = false;
    bool stale = false;                  // the map is stale
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
  // Groups tasks by the node that must answer; a task without a node is sent again.
  std::vector<Share> shares_of(std::span<const Task> tasks, std::span<const std::size_t> pending,
                               std::vector<std::size_t>& again, Round& round);
  void send(Share& share, std::span<const Task> tasks, Loss loss);
  bool confirms(Loss loss) const noexcept { return confirm_.wanted() && loss == Loss::kInDoubt; }
  // Adds to `again` the tasks to send again.
  void read(Share& share, std::span<Task> tasks, std::vector<Reply>& replies,
            std::vector<std::size_t>& again, Round& round, Loss loss);
  // Asks again, with a write to a name in the same slot.
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

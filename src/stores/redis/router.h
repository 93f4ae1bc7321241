// Router: takes each question to the server that has to answer it.
//
// A single server answers all. On a Cluster the name that a question is about says whose it is: its
// slot, and the node that has that. What concerns several nodes is sent to all of them before any
// answer is read.
//
// What a node sends on (MOVED, ASK) is followed; what comes at a bad moment (a slot in between two
// nodes, a node that is lost or loads its data, a Cluster without a master for the slot) is said
// again after a pause, for as long as the answer timeout of the URL.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <semel/environment.h>

#include "stores/redis/confirm.h"
#include "stores/redis/nodes.h"
#include "stores/redis/scripts.h"

namespace semel::redis {

// A command, and the name that it is about.
struct Question {
  BytesView name;
  std::vector<BytesView> words;
};

// Any thread.
class Router {
 public:
  // `kept`: idle connections to each node. Connects to nobody.
  Router(const Target& target, std::size_t kept, bool cluster, Confirm confirm, Random& random);

  bool is_cluster() const noexcept { return cluster_; }
  const Confirm& confirm() const noexcept { return confirm_; }

  // Runs the script for each of the calls, sent together; the first key of each chooses its node.
  // Answers may be errors. Throws core::Failure where an answer did not come; in doubt where, as
  // `loss` says, something may have been done.
  std::vector<Reply> run(const Script& script, std::span<const Call> calls, Loss loss);
  // The same for commands.
  std::vector<Reply> ask_all(std::span<const Question> questions, Loss loss);
  // One command, which is about its second word. Throws what is refused too.
  Reply ask(const std::vector<BytesView>& words, Loss loss);

  // All that have slots. Throws core::Failure where none says which they are.
  Masters masters();
  // Who answers what is about this name. Throws core::Failure.
  std::shared_ptr<Node> owner(std::string_view name);

 private:
  // One of those that are asked together; it has one answer.
  struct Task {
    std::uint16_t slot = 0;
    std::function<void(Wire&, bool with_text)> send;
    bool with_text = false;        // of the script: the node does not know it
    std::shared_ptr<Node> asking;  // the node that it was sent on to, for this once
  };
  struct Share {
    std::shared_ptr<Node> node;
    std::unique_ptr<Wire> wire;
    std::vector<std::size_t> tasks;
  };
  // How a round ended for those that go again.
  struct Round {
    bool pause = false;
    bool stale = false;                  // the map is
    std::optional<core::Failure> lost;   // nothing of it was done
    std::optional<core::Failure> doubt;  // something may have been
  };

  std::vector<Reply> run_one_server(const Script& script, std::span<const Call> calls, Loss loss);
  std::vector<Reply> run_alone(const Script& script, std::span<const Call> calls,
                               std::span<const std::size_t> which, Loss loss);
  std::vector<Reply> run_bundled(const Script& script, std::span<const Call> calls, Loss loss);
  // Of calls for one node each; what nobody has is in none.
  std::vector<std::vector<std::size_t>> bundles_of(std::span<const Call> calls);
  std::vector<Reply> route(std::vector<Task> tasks, Loss loss);
  // By the node that is to answer; what has none goes again.
  std::vector<Share> shares_of(std::span<const Task> tasks, std::span<const std::size_t> pending,
                               std::vector<std::size_t>& again, Round& round);
  void send(Share& share, std::span<const Task> tasks, Loss loss);
  // Adds to `again` what goes again.
  void read(Share& share, std::span<Task> tasks, std::vector<Reply>& replies,
            std::vector<std::size_t>& again, Round& round, Loss loss);
  bool goes_again(Task& task, const Reply& reply, const Share& share, Round& round);

  const std::chrono::milliseconds patience_;
  const bool cluster_;
  const Confirm confirm_;
  Random& random_;
  Nodes nodes_;
  std::atomic<std::chrono::steady_clock::time_point> no_bundles_until_{};
};

}  // namespace semel::redis

// CommitFault: the fault of the next commit that passes a proxy.
#pragma once

#include <vector>

#include "tests/chaos/server_under_test.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/waiting.h"

namespace semel::test {

class CommitFault {
 public:
  CommitFault(TcpProxy& proxy, TcpProxy::Then then) : proxy_(proxy) {
    for (const std::string& word : commit_words()) {
      TcpProxy::Fault fault{.text = word, .then = then};
      if (then == TcpProxy::Then::kWithhold) fault.answer = commit_answer();
      faults_.push_back(proxy.inject(fault));
    }
  }
  std::size_t fired() const {
    std::size_t all = 0;
    for (const TcpProxy::FaultId fault : faults_) all += proxy_.fired(fault);
    return all;
  }
  // False where it took too long.
  bool wait_fired() const {
    return comes_true([this] { return fired() > 0; });
  }

 private:
  TcpProxy& proxy_;
  std::vector<TcpProxy::FaultId> faults_;
};

}  // namespace semel::test

// Transfers: many concurrent HTTP requests on one thread.
//
//   Transfers transfers;
//   transfers.begin({.url = "https://example.com/"}, [](Result<Response> answer) { … });
//   while (transfers.running() > 0) transfers.run(std::chrono::seconds(1));
//
// A connection that a request leaves open serves the next one. Each request is sent at most once:
// if a reused connection ends without an answer, the request fails with kInDoubt.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <semel/message.h>
#include <semel/result.h>

#include "clients/curl/handles.h"

namespace semel::curl {

struct Request {
  std::string method = "POST";
  std::string url;
  Headers headers;
  std::string body;
  std::chrono::milliseconds timeout{30'000};  // of the whole request
  std::string ca_file;                        // in PEM format; empty: the system's
  // False: ignores the environment's proxy, as for a service on this machine only.
  bool through_proxy = true;
};

struct Response {
  int status = 0;
  std::string body;
  // Its Date header: the server's clock, to the second.
  std::optional<std::chrono::system_clock::time_point> date;
};

// kUnavailable: the request was not sent. kInDoubt: it was, at least in part, and there is no whole
// answer. kRejected: the request cannot be made (a URL that is none), or the server's certificate
// is not trusted. The message is libcurl's; there is no code.
using Answered = Result<Response>;

// Makes one request and waits for its answer.
Answered fetch(const Request& request);

// Not thread-safe, except for wake(). Throws SemelError if libcurl cannot be used.
class Transfers {
 public:
  using Done = std::function<void(Answered)>;
  using Id = std::uint64_t;

  Transfers();
  // Abandons the requests in progress without calling their `done`.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // `done` is called once, from within run(), and may begin or abandon other requests.
  Id begin(Request request, Done done);
  // Abandons the request: its `done` is no longer called.
  void give_up(Id id) noexcept;
  void give_up_all() noexcept;
  std::size_t running() const noexcept { return under_way_.size(); }

  // Sends and reads what is ready, and waits for up to `patience` or until wake(). If libcurl
  // fails, all requests in progress end with an error.
  void run(std::chrono::milliseconds patience);
  void wake() noexcept;  // thread-safe

 private:
  struct Transfer;
  void take_ended();
  void fail_all(int code);

  LibraryUse library_;
  Multi multi_;
  Id last_ = 0;
  std::map<Id, std::unique_ptr<Transfer>> under_way_;
};

}  // namespace semel::curl

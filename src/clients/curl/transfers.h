// Transfers: HTTP requests on their way, many at a time on one thread.
//
//   Transfers transfers;
//   transfers.begin({.url = "https://example.com/"}, [](Result<Response> answer) { … });
//   while (transfers.running() > 0) transfers.run(std::chrono::seconds(1));
//
// A connection that a request leaves open serves the next one. libcurl sends a request again by
// itself where a connection that it kept turns out to be closed: only requests that may be made
// twice belong here.
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
  std::chrono::milliseconds timeout{30'000};  // of all of it
  std::string ca_file;                        // in PEM format; empty: whom the system trusts
  // False: no proxy of the environment is used, as for a service of this machine alone.
  bool through_proxy = true;
};

struct Response {
  int status = 0;
  std::string body;
  // Its header Date: the server's clock, to the second.
  std::optional<std::chrono::system_clock::time_point> date;
};

// kUnavailable: the request was not sent. kInDoubt: it was, at least in part, and there is no whole
// answer. kRejected: the request cannot be made (a URL that is none), or the server's certificate
// is not trusted. The message is libcurl's; there is no code.
using Answered = Result<Response>;

// One request, waited for.
Answered fetch(const Request& request);

// One thread at a time, but for wake(). Throws SemelError where libcurl cannot be used.
class Transfers {
 public:
  using Done = std::function<void(Answered)>;
  using Id = std::uint64_t;

  Transfers();
  // Gives up what is on its way; no `done` is called.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // `done` is called once, from within run(), and may begin and give up others.
  Id begin(Request request, Done done);
  // Its `done` is not called any more.
  void give_up(Id id) noexcept;
  void give_up_all() noexcept;
  std::size_t running() const noexcept { return under_way_.size(); }

  // Sends and reads what can be, and waits for more for up to `patience` or until wake(). Where
  // libcurl fails, everything under way ends with an error.
  void run(std::chrono::milliseconds patience);
  void wake() noexcept;  // from any thread

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

// Owners of libcurl's handles. A source file that sets options includes libcurl's own header;
// headers do not need it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct curl_slist;
struct Curl_URL;

namespace semel::curl {

// Keeps libcurl initialized as long as one instance lives. Any number may live, in any threads.
class LibraryUse {
 public:
  LibraryUse() noexcept;
  ~LibraryUse();
  LibraryUse(const LibraryUse&) = delete;
  LibraryUse& operator=(const LibraryUse&) = delete;
  bool ready() const noexcept { return ready_; }

 private:
  bool ready_;
};

struct EndEasy {
  void operator()(void* easy) const noexcept;
};
struct EndMulti {
  void operator()(void* multi) const noexcept;
};
struct EndLines {
  void operator()(curl_slist* lines) const noexcept;
};
struct EndUrl {
  void operator()(Curl_URL* url) const noexcept;
};
// The first two are void to libcurl itself.
using Easy = std::unique_ptr<void, EndEasy>;
using Multi = std::unique_ptr<void, EndMulti>;
using Url = std::unique_ptr<Curl_URL, EndUrl>;

class HeaderLines {
 public:
  // `line` is in libcurl's form: "Name: value"; "Name;" for no value; "Name:" to remove the header.
  // Throws std::bad_alloc.
  void add(const std::string& line);
  void add(std::string_view name, std::string_view value);
  curl_slist* get() const noexcept { return lines_.get(); }

 private:
  std::unique_ptr<curl_slist, EndLines> lines_;
};

// Lets a request be sent once. If a reused connection ends without an answer, libcurl repeats the
// request by itself; but the server may have done the work.
class SentOnce {
 public:
  // `easy`, libcurl's easy handle, must be cleaned up before this object is destroyed. Throws
  // std::runtime_error where libcurl refuses.
  void watch(void* easy);
  // True if the request was sent, at least in part, or was about to be.
  bool sent() const noexcept { return sent_; }
  // True if libcurl was about to send it again: the first connection ended without an answer.
  bool repeated() const noexcept { return repeated_; }

 private:
  static int before_request(void* request, char*, char*, int, int);

  bool sent_ = false;
  bool repeated_ = false;
};

}  // namespace semel::curl

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
struct EndShare {
  void operator()(void* share) const noexcept;
};
struct EndUrl {
  void operator()(Curl_URL* url) const noexcept;
};
// The first three are void to libcurl itself.
using Easy = std::unique_ptr<void, EndEasy>;
using Multi = std::unique_ptr<void, EndMulti>;
using Share = std::unique_ptr<void, EndShare>;
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

}  // namespace semel::curl

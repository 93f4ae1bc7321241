// The parts of a URL, as the stores' addresses are written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::url_text {

// %41 as A; none where a % is not followed by two digits.
std::optional<std::string> unescaped(std::string_view text);

// What stands before the mark, which is taken away with it; all where there is none.
std::string_view cut_before(std::string_view& text, char mark);

// None where it is no number from `least` to `most`.
std::optional<unsigned> number(std::string_view text, unsigned least, unsigned most);

// host:port, or [host]:port where colons stand in the host. Views of what was given; without a port
// that is empty.
struct Server {
  std::string_view host;
  std::string_view port;
};
Server server(std::string_view text);

// The option `tls` of a URL, which may be said several times, beside its option `tls-ca`.
class TlsWord {
 public:
  // Both yield what is wrong, in words that follow the URL's name; none where nothing is.
  std::optional<std::string> say(const std::string& word);
  std::optional<std::string> flaw_beside_ca() const;

 private:
  std::optional<std::string> said_;
};

}  // namespace semel::url_text

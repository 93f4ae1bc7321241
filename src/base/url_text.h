// The parts of a URL, in the format of the stores' addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::url_text {

// %41 as A; nullopt where a % is not followed by two digits.
std::optional<std::string> unescaped(std::string_view text);

// Removes and returns the text before the mark, and removes the mark; everything where there is
// none.
std::string_view cut_before(std::string_view& text, char mark);

// nullopt where it is no number from `least` to `most`.
std::optional<unsigned> number(std::string_view text, unsigned least, unsigned most);

// host:port, or [host]:port where the host contains colons. Views of the given text; an absent port
// is empty.
struct Server {
  std::string_view host;
  std::string_view port;
};
Server server(std::string_view text);

// The option `tls` of a URL, which may be repeated, together with its option `tls-ca`.
class TlsWord {
 public:
  // Both return what is wrong, in words that follow the URL's name; nullopt where nothing is.
  std::optional<std::string> say(const std::string& word);
  std::optional<std::string> flaw_beside_ca() const;

 private:
  std::optional<std::string> said_;
};

}  // namespace semel::url_text

// What an HTTP handler is told by its config, and the rules that its parts must keep.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/message.h>

namespace semel::core {

struct HttpSpec {
  enum class KeyStyle {
    kQuoted,  // a structured-field string, as the Idempotency-Key draft asks
    kBare,    // the key's own bytes, for receivers that compare them raw
  };

  std::string consumer;         // its name: header semel-consumer, and a part of webhook-id
  std::string source;           // the name of the source's kind: header semel-source
  std::string url;              // with places for what differs (core/url_template.h)
  std::string method = "POST";  // DELETE has no body (RFC 9110, 9.3.5)
  std::chrono::milliseconds timeout{0};  // of a call, to the answer's last byte; 0: no own one
  Headers headers;                       // sent with every call
  KeyStyle key_style = KeyStyle::kQuoted;
  bool honours_key = false;  // declared: under a key it knows the endpoint does nothing again
  std::optional<std::chrono::milliseconds> remote_keeps;  // declared: for so long it knows a key
  // An answer of 5xx leaves open whether the effect was made (strategy at_most_once); 501 and 503
  // say that it was not.
  bool failure_is_doubt = false;
  bool undoes = false;  // a step's undo: what it does not find speaks of its message alone
  std::vector<std::string> signing_secrets;  // whsec_…; each of them signs every call
  std::string ca_file;             // PEM: trusted in place of the system's; empty: the system's
  std::size_t response_limit = 0;  // bytes of an answer's body
};

// What keeps `url` from being one that can be called, in words that follow its name; nothing where
// it is http or https, has a host, and no byte that a URL cannot have.
std::optional<std::string> url_flaw(std::string_view url);
// Its first place for what a step answered, as it is written, but of these steps; nothing where it
// has none.
std::optional<std::string> place_for_answer(std::string_view url,
                                            const std::vector<std::string>& but_of = {});
// Whether a user or password stands in it.
bool url_has_credentials(std::string_view url) noexcept;

// Why a config may not set this header, in words that follow its name: it is no name (RFC 9110,
// token), it is one that Semel sends, or one that belongs to the connection.
std::optional<std::string> header_flaw(std::string_view name);
// The same of a header that is sent to a collector of spans, which is no receiver of messages: it
// may have any name that an HTTP handler's calls have not.
std::optional<std::string> export_header_flaw(std::string_view name);
bool is_header_name(std::string_view name) noexcept;
// Without control bytes: nothing in it ends the header.
bool is_header_value(std::string_view value) noexcept;
// A header whose value is a secret, by its name.
bool sounds_secret(std::string_view name);

// The bytes of a secret of Standard Webhooks, `whsec_` before their base64; nothing where it is
// none.
std::optional<Bytes> signing_key(std::string_view secret);

}  // namespace semel::core

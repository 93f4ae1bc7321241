// The config of an HTTP handler, and the rules that its parts must keep.
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
    kBare,    // the key's own bytes, for receivers that compare raw values
  };

  std::string consumer;         // its name: header semel-consumer, and a part of webhook-id
  std::string source;           // the name of the source's kind: header semel-source
  std::string url;              // with places for values of the message (core/url_template.h)
  std::string method = "POST";  // DELETE has no body (RFC 9110, 9.3.5)
  std::chrono::milliseconds timeout{0};  // of a call, to the answer's last byte; 0: none
  Headers headers;                       // sent with every call
  KeyStyle key_style = KeyStyle::kQuoted;
  bool honours_key = false;  // declared: the endpoint does nothing for a key it has seen
  std::optional<std::chrono::milliseconds> remote_keeps;  // declared: how long it remembers a key
  // Many answers of 3xx or 5xx leave it open whether the effect was made (handlers::leaves_doubt).
  // True where that matters: for strategy at_most_once, and for a producer.
  bool failure_is_doubt = false;
  // Every header of the message is sent, and its type as ce-type: for a producer, which refuses a
  // message whose headers cannot be sent (producer::http_flaw). Otherwise those of CloudEvents and
  // traces alone are passed on.
  bool every_header = false;
  bool undoes = false;  // an undo of a step: a 404 concerns its own message only
  std::vector<std::string> signing_secrets;  // whsec_…; each of them signs every call
  std::string ca_file;             // PEM: trusted in place of the system's; empty: the system's
  std::size_t response_limit = 0;  // bytes of an answer's body
};

// Why `url` cannot be called, in words that follow its name; nullopt where it is http or https, has
// a host, and contains only bytes that a URL may have.
std::optional<std::string> url_flaw(std::string_view url);
// The first place in `url`, as written, for the answer of a step that is not in `but_of`; nullopt
// where there is none.
std::optional<std::string> place_for_answer(std::string_view url,
                                            const std::vector<std::string>& but_of = {});
// Whether the URL contains a user or password.
bool url_has_credentials(std::string_view url) noexcept;

// Why a config may not set this header, in words that follow its name: it is no name (RFC 9110,
// token), Semel sends it, or it belongs to the connection.
std::optional<std::string> header_flaw(std::string_view name);
// The same for a request to a collector of spans: headers that Semel sends to receivers of messages
// are allowed there.
std::optional<std::string> export_header_flaw(std::string_view name);
bool is_header_name(std::string_view name) noexcept;
// Whether it is of CloudEvents or W3C Trace Context, in any case of letters: those are passed on.
bool is_of_event_or_trace(std::string_view name) noexcept;
// Without control bytes: nothing in it can end the header.
bool is_header_value(std::string_view value) noexcept;
// Whether the header's name suggests a secret value.
bool sounds_secret(std::string_view name);

// The bytes of a Standard Webhooks secret, `whsec_` followed by base64; nullopt where it is none.
std::optional<Bytes> signing_key(std::string_view secret);

}  // namespace semel::core

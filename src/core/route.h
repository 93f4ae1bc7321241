// Route: a receiver of what `publish` and `copy_to` of a config send. Pure.
#pragma once

#include <string_view>

#include <semel/message.h>

namespace semel::core {

struct Route {
  ConsumerNumber to{};
  // Other consumers of the file may send to it too: two of their messages may have one key.
  bool shared = false;
  // The same consumer sends there in another way too.
  bool twofold = false;
};

// The key there of what `sender` sends under `key`: "order-17", or "orders/order-17" where it is
// shared. A name has no slash, so no two senders share one.
inline Bytes key_at(const Route& route, std::string_view sender, BytesView key) {
  Bytes made;
  if (route.shared) made.append(sender).append("/");
  return made.append(key);
}

}  // namespace semel::core

// The body of a request that edits a dead letter.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "admin/api_route.h"
#include "operate/letter_edit.h"

namespace semel::admin {

struct EditBody {
  static constexpr std::size_t kMostHeaders = 100;

  std::string reason;
  operate::LetterChange change;
  std::optional<std::string> revision;  // of the letter as the caller saw it
  bool replay = false;
  bool dry_run = false;
};

// Or 400 with what is wrong.
tl::expected<EditBody, HttpResponse> edit_body(const ApiCall& call);

}  // namespace semel::admin

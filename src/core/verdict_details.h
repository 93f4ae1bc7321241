// Changes a verdict's details, for code that makes a verdict in several steps. A kind that lacks
// the detail is unchanged.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include <semel/verdict.h>

namespace semel::core {

// Calls `change` with the details of this kind, as `change_details<Verdict::Retry>(verdict, …)`.
template <class Kind, class Change>
void change_details(Verdict& verdict, Change change) {
  if (!std::holds_alternative<Kind>(verdict.details())) return;
  Verdict::Details details = std::move(verdict).details();
  change(std::get<Kind>(details));
  verdict = Verdict(std::move(details));
}

inline void set_code(Verdict& verdict, const std::string& code) {
  change_details<Verdict::Retry>(verdict, [&](Verdict::Retry& said) { said.code = code; });
  change_details<Verdict::Dead>(verdict, [&](Verdict::Dead& said) { said.code = code; });
}

inline void set_unknown(Verdict& verdict, bool unknown) {
  change_details<Verdict::Retry>(verdict, [&](Verdict::Retry& said) { said.unknown = unknown; });
  change_details<Verdict::Dead>(verdict, [&](Verdict::Dead& said) { said.unknown = unknown; });
}

inline void set_counted(Verdict& verdict, bool counted) {
  change_details<Verdict::Retry>(verdict, [&](Verdict::Retry& said) { said.counted = counted; });
}

}  // namespace semel::core

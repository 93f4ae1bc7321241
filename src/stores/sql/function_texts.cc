#include "stores/sql/function_texts.h"

#include "core/guard_recipe.h"
#include "core/key_recipe.h"

namespace semel::sql {
namespace {

void fill_in(std::string& text, const FunctionName& name) {
  for (std::size_t at = text.find(name.first); at != std::string::npos;
       at = text.find(name.first, at + name.second.size())) {
    text.replace(at, name.first.size(), name.second);
  }
}

}  // namespace

std::string filled_functions(std::string text, std::span<const FunctionName> own) {
  const core::Limits limits;
  const FunctionName shared[] = {
      {"{version}", std::to_string(kFunctionsVersion)},
      {"{key_limit}", std::to_string(limits.key)},
      {"{result_limit}", std::to_string(limits.result)},
      {"{payload_limit}", std::to_string(limits.payload)},
      {"{headers_limit}", std::to_string(limits.headers)},
      {"{guard_recipe}", std::string(core::kGuardRecipe)},
  };
  for (const FunctionName& name : own) fill_in(text, name);
  for (const FunctionName& name : shared) fill_in(text, name);
  return text;
}

}  // namespace semel::sql

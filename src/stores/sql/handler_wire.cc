#include "stores/sql/handler_wire.h"

#include <array>

#include "core/statement_text.h"

namespace semel::sql {

const std::string& text_of(Mark mark) noexcept {
  static const std::array<std::string, 10> texts = {"SAVEPOINT semel_flush",
                                                    "ROLLBACK TO SAVEPOINT semel_flush",
                                                    "SAVEPOINT semel_message",
                                                    "ROLLBACK TO SAVEPOINT semel_message",
                                                    "RELEASE SAVEPOINT semel_message",
                                                    "SAVEPOINT semel_question",
                                                    "ROLLBACK TO SAVEPOINT semel_question",
                                                    "RELEASE SAVEPOINT semel_question",
                                                    "COMMIT",
                                                    "SET CONSTRAINTS ALL IMMEDIATE"};
  return texts[static_cast<std::size_t>(mark)];
}

void name_statement(Broke& broke, const RecordedStatement& statement) {
  if (broke.error.kind == ErrorKind::kBlocked) return;
  core::name_statement(broke.error, core::written_text(*statement.statement));
}

}  // namespace semel::sql

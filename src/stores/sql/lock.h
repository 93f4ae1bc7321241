// Lock: whether a row that is read is kept from all others until the transaction ends.
#pragma once

namespace semel::sql {

enum class Lock { kNone, kForUpdate };

}  // namespace semel::sql

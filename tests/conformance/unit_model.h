// Units of work next to the model of a store, with an account of their effects.
#pragma once

#include <map>
#include <vector>

#include "tests/conformance/store_model.h"
#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {

class UnitModelSuite : public UnitTest {
 protected:
  // A batch of a few keys, ended in any way and committed, or not.
  void unit_step(Model& model);
  // A two-phase claim, or its late end, or time that passes.
  void other_step(Model& model);
  // The expected count of each key's effect, by the model alone.
  std::map<Bytes, std::int64_t> effects_;

 private:
  void end_batch(Model& model, Batch& batch, const Model::Keys& before,
                 std::map<Bytes, std::int64_t>& effects);
};

}  // namespace semel::conformance

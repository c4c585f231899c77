// Compiled twice, never run: with -DBURTORCH_NAMES=0 the name below is in no byte of the object file (names.sh).
#include "burtorch/core/backward.hpp"

double squareWithName(double number) {
  burtorch::Value x(number,
                    "the_name_of_a_node_that_is_too_long_to_hide_in_the_operands_of_a_few_instructions");
  const auto y = x * x;
  x.setName("another_name_of_a_node_that_is_too_long_to_hide_in_the_operands_of_instructions");
  backward(y);
  return x.gradCopy();
}

// What depends on what, on graphs small enough to see it, at compile time and at run time; and operands as ranges.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <burtorch/core/analysis.hpp>
#include <vector>

namespace burtorch {
namespace analysis_test {

constexpr auto always = [](std::size_t) { return true; };

/// Numbers 0, 1, 2 and 3 are inputs; instruction 0 makes 4 and 5 of 0 and 2 (a stride), 1 makes 6 of 1, 2 makes 7 of 5, 6.
struct Small {
  static constexpr std::size_t instructionCount() { return 3; }
  static constexpr NumberRange results(std::size_t k) {
    return k == 0 ? NumberRange{4, 2} : NumberRange{k + 5, 1};
  }
  template <class Visit> static constexpr void forEachOperand(std::size_t k, Visit visit) {
    if (k == 0) visit(0, 2, 2);
    if (k == 1) visit(1, 1, 1);
    if (k == 2) visit(6, 2, -1);
  }
};
using Numbers = std::array<bool, 8>;

constexpr Numbers reachedFrom(std::size_t root, std::size_t closed = 9) {
  Numbers marks{};
  marks[root] = true;
  reaches(Small{}, Marks(marks.data()), [=](std::size_t k) { return k != closed; });
  return marks;
}
constexpr Numbers varyingWith(std::size_t input) {
  Numbers marks{};
  marks[input] = true;
  varies(Small{}, Marks(marks.data()), always);
  return marks;
}
static_assert(reachedFrom(7) == Numbers{true, true, true, false, false, true, true, true});
static_assert(reachedFrom(4) == Numbers{true, false, true, false, true, false, false, false});
static_assert(reachedFrom(7, 1) == Numbers{true, false, true, false, false, true, true, true});
static_assert(varyingWith(2) == Numbers{false, false, true, false, true, true, false, true});
static_assert(varyingWith(3) == Numbers{false, false, false, true, false, false, false, false});

TEST(Analysis, TheFirstUseIsTheFirstOnly) {
  Numbers marks{};
  EXPECT_TRUE(firstUse(Marks(marks.data()), 3));
  EXPECT_FALSE(firstUse(Marks(marks.data()), 3));
  EXPECT_TRUE(firstUse(Marks(marks.data()), 4));
}

struct Seen {
  NodeIndex first, count;
  std::int32_t stride;
  friend bool operator==(const Seen&, const Seen&) = default;
};
std::vector<Seen> operandsOf(const Tape<double>& tape, const Value<double>& node) {
  std::vector<Seen> seen;
  const Instruction code = tape.instruction(tape.find(node.sysGetRawNodeIndex()).instruction);
  forEachOperandRange(code, tape.infoOf(code.op()), tape.words(),
                      [&](NodeIndex first, NodeIndex count, std::int32_t stride) {
                        seen.push_back({first, count, stride});
                      });
  return seen;
}

TEST(OperandRanges, AreFewHoweverLongTheListsAre) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto many = tape.leaves(1'000'000), more = tape.leaves(100);
  using Ranges = std::vector<Seen>;
  EXPECT_EQ(operandsOf(tape, reduceSum(many)), (Ranges{{0, 1'000'000, 1}}));
  EXPECT_EQ(operandsOf(tape, reduceSum(more.every(99, 50, -2))), (Ranges{{1'000'099, 50, -2}}));
  EXPECT_EQ(operandsOf(tape, reduceSum(std::array{more, many})),
            (Ranges{{1'000'000, 100, 1}, {0, 1'000'000, 1}}));
  EXPECT_EQ(operandsOf(tape, innerProductWithBias(more, more, many[7])),
            (Ranges{{1'000'000, 100, 1}, {1'000'000, 100, 1}, {7, 1, 1}}));
  EXPECT_EQ(operandsOf(tape, many[3] * many[3]), (Ranges{{3, 1, 1}, {3, 1, 1}}));
  EXPECT_EQ(operandsOf(tape, reduceSum(std::array{many[5], many[1], many[2]})),
            (Ranges{{5, 1, 1}, {1, 1, 1}, {2, 1, 1}}));
  EXPECT_EQ(operandsOf(tape, many[0]), Ranges{});
}

}  // namespace analysis_test
}  // namespace burtorch

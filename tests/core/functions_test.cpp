// The public functions of scalar operators record the operator of their name. (What an operator computes is asked of
// apply<Op>, for every operator of the list, in ops_test.cpp and by the random graphs.)
#include <gtest/gtest.h>

#include <burtorch/burtorch.hpp>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

namespace functions_test {

using X = burtorch::Value<double>;

struct Function {
  std::string_view name;
  X (*call)(X x, X y);
};
const Function functions[] = {
    {"relu", [](X x, X) { return relu(x); }},
    {"tanh", [](X x, X) { return tanh(x); }},
    {"exp", [](X x, X) { return exp(x); }},
    {"negativeLog", [](X x, X) { return negativeLog(x); }},
    {"sigmoid", [](X x, X) { return sigmoid(x); }},
    {"inv", [](X x, X) { return inv(x); }},
    {"sqr", [](X x, X) { return sqr(x); }},
    {"pow3", [](X x, X) { return pow3(x); }},
    {"logarithm", [](X x, X) { return logarithm(x); }},
    {"logarithm", [](X x, X) { return log(x); }},
    {"sqrt", [](X x, X) { return sqrt(x); }},
    {"invSqrt", [](X x, X) { return invSqrt(x); }},
    {"neg", [](X x, X) { return -x; }},
    {"sin", [](X x, X) { return sin(x); }},
    {"cos", [](X x, X) { return cos(x); }},
    {"abs", [](X x, X) { return abs(x); }},
    {"softplus", [](X x, X) { return softplus(x); }},
    {"erf", [](X x, X) { return erf(x); }},
    {"gelu", [](X x, X) { return gelu(x); }},
    {"geluTanh", [](X x, X) { return geluTanh(x); }},
    {"log1p", [](X x, X) { return log1p(x); }},
    {"expm1", [](X x, X) { return expm1(x); }},
    {"add", [](X x, X y) { return x + y; }},
    {"sub", [](X x, X y) { return x - y; }},
    {"mul", [](X x, X y) { return x * y; }},
    {"div", [](X x, X y) { return x / y; }},
    {"mean", [](X x, X y) { return mean(x, y); }},
    {"addSquares", [](X x, X y) { return addSquares(x, y); }},
    {"meanSquares", [](X x, X y) { return meanSquares(x, y); }},
    {"negativeMean", [](X x, X y) { return negativeMean(x, y); }},
    {"max", [](X x, X y) { return max(x, y); }},
    {"min", [](X x, X y) { return min(x, y); }},
    {"mulByConstant", [](X x, X) { return x * 0.5; }},
    {"addConstant", [](X x, X) { return x + 0.5; }},
    {"subFromConstant", [](X x, X) { return 0.5 - x; }},
    {"divByConstant", [](X x, X) { return x / 3.0; }},
    {"constantDiv", [](X x, X) { return 0.5 / x; }},
    {"maxConstant", [](X x, X) { return max(x, 0.5); }},
    {"minConstant", [](X x, X) { return min(x, 0.5); }},
    {"leakyRelu", [](X x, X) { return leakyRelu(x, 0.25); }},
    {"pow", [](X x, X) { return pow(x, 1.5); }},
};

TEST(Functions, RecordTheOperatorOfTheirName) {
  burtorch::Tape<double> tape;
  burtorch::CurrentTape here(tape);
  const X x(0.75), y(1.25);
  for (const Function& function : functions) {
    const X z = function.call(x, y);
    const auto position = tape.find(z.sysGetRawNodeIndex());
    EXPECT_EQ(tape.infoOf(tape.code()[position.instruction].op()).name, function.name);
  }
}

// A new operator may wait for its line in the table above; that it waits is said.
TEST(Functions, ThatAreNotListedHereAreNamed) {
  std::set<std::string_view> listed;
  for (const Function& function : functions) listed.insert(function.name);
  EXPECT_GE(listed.size(), 39u);
  for (const burtorch::OpInfo& info : burtorch::OpList::infos) {
    const bool isScalar = info.arity == burtorch::Arity::unary || info.arity == burtorch::Arity::binary ||
                          info.arity == burtorch::Arity::constant;
    if (isScalar && listed.count(info.name) == 0)
      std::printf("not listed in functions_test.cpp: %s\n", std::string(info.name).c_str());
  }
}

}  // namespace functions_test

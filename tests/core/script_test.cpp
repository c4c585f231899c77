// The script header beside `using namespace std`: no name of either is ambiguous where a script would use it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "burtorch.h"

using namespace std;

TEST(Script, FunctionsOfValuesAndOfPlainNumbersLiveTogether) {
  Value a(0.5), b(2.0);
  auto c = exp(a) + log(b) + tanh(a) + sqrt(b) + abs(a) + pow(a, 2) + sin(a) + erf(b);
  EXPECT_DOUBLE_EQ(c.dataCopy(), exp(0.5) + log(2.0) + tanh(0.5) + sqrt(2.0) + abs(0.5) + pow(0.5, 2) +
                                     sin(0.5) + erf(2.0));
}

TEST(Script, MaxAndMinAreOurs) {
  Value a(0.5), b(2.0);
  auto c = max(a, b) + min(a, b) + max(a, 0.1);
  backward(c);
  EXPECT_EQ(c.dataCopy(), 3.0);
  EXPECT_EQ(a.gradCopy(), 2.0);
  EXPECT_EQ(max(1.0, 2.0), 2.0);
}

TEST(Script, ListsAreOrdinaryContainers) {
  vector<Value<double>> xs{Value(1.5), Value(-2.0), Value(4.0)};
  auto y = reduceSum(xs) + innerProduct(xs, xs);
  backward(y);
  EXPECT_EQ(y.dataCopy(), 3.5 + 2.25 + 4 + 16);
  EXPECT_EQ(xs[1].gradCopy(), 1 - 4.0);
}

TEST(Script, ComparesAndSortsByNumber) {
  vector<Value<double>> xs{Value(1.5), Value(-2.0), Value(4.0)};
  sort(xs.begin(), xs.end());
  EXPECT_EQ(xs.front().dataCopy(), -2.0);
  EXPECT_TRUE(xs[0] < xs[1] && xs[1] < 2);
}

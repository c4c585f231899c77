// Batches of a compile-time graph in every container, of every shape of sample, in place, and of lengths that disagree.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <span>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace batch_containers_test {

constexpr auto product = compile([](auto a, auto b) { return a * a * b; });

TEST(BatchContainers, AnythingContiguous) {
  const std::vector<double> a{1.5, -2.5, 4.0, 0.5, 3.0};
  std::array<double, 5> b{2.0, 0.25, -1.5, 8.0, 0.75};
  double da[5];
  std::vector<double> db(5);
  product.gradBatch(std::span(a), b, da, std::span(db));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(da[i], 2 * a[i] * b[i]);
    EXPECT_EQ(db[i], a[i] * a[i]);
  }
}
TEST(BatchContainers, GradientsMayReplaceTheSamples) {
  std::vector<double> a{1.5, -2.5, 4.0, 0.5, 3.0}, b{2.0, 0.25, -1.5, 8.0, 0.75};
  const auto oldA = a, oldB = b;
  product.gradBatch(a, b, a, b);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(a[i], 2 * oldA[i] * oldB[i]);
    EXPECT_EQ(b[i], oldA[i] * oldA[i]);
  }
}
TEST(BatchContainers, AnErrorChangesNothing) {
  const std::vector<double> a(5, 1.5), b(4, 2.5);
  std::vector<double> da(5, 77), db(5, 77);
  EXPECT_EQ(sentenceOf([&] { product.gradBatch(a, b, da, db); }),
            "batch: expected lists of 5 samples, got one of 4");
  EXPECT_EQ(da, std::vector<double>(5, 77));
  EXPECT_EQ(db, std::vector<double>(5, 77));
}

template <class X> struct Point { X x, y; };
template <class X> struct Body {
  Point<X> at;
  std::array<X, 3> forces;
};
constexpr auto ofBody = compile([](const auto& body, const auto& v) {
  const auto sum = reduceSumOfSquares(body.forces);
  return sum * sqrt(sqr(body.at.x) + 0.5) + body.at.y * innerProduct(v, v);
});
TEST(BatchContainers, SamplesOfSeveralShapes) {
  for (std::size_t count = 0; count <= 2 * Pack<float>::count + 1; ++count) {
    std::vector<Body<float>> bodies(count), bodyGradients(count + 1, {{77, 77}, {77, 77, 77}});
    std::vector<std::array<float, 2>> vs(count), vGradients(count + 1, {77, 77});
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = 0.3f * static_cast<float>(i) - 0.9f;
      bodies[i] = {{x, 1 - x}, {x * x, 0.4f, -x}};
      vs[i] = {x - 0.5f, 0.7f};
    }
    ofBody.gradBatch(bodies, vs, std::span(bodyGradients).first(count), std::span(vGradients).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto [body, v] = ofBody.grad(bodies[i], vs[i]);
      EXPECT_EQ(bodyGradients[i].at.x, body.at.x);
      EXPECT_EQ(bodyGradients[i].at.y, body.at.y);
      EXPECT_EQ(bodyGradients[i].forces, body.forces);
      EXPECT_EQ(vGradients[i], v);
    }
    EXPECT_EQ(bodyGradients[count].at.x, 77);
    EXPECT_EQ(bodyGradients[count].forces[2], 77);
    EXPECT_EQ(vGradients[count], (std::array{77.0f, 77.0f}));
  }
}

}  // namespace batch_containers_test
}  // namespace burtorch

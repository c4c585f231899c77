// Products of a few columns in wide registers beside plain loops, where the machine has them; tests/nn/product_test.cpp has the rest.
#include <burtorch/nn/product.hpp>

#include <array>
#include <burtorch/base/thread_pool.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace narrow_product_test {

template <class T> class NarrowProductTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(NarrowProductTest, Scalars);

enum class Start { zero, bias, held };

template <class T>
void expectNear(std::size_t outputs, std::size_t inputs, std::size_t columns, Start start,
                bool isTransposed) {
  GuardedMatrix<T> w(isTransposed ? inputs : outputs, isTransposed ? outputs : inputs, 1, false, 1),
      x(inputs, columns, 3, false, 2), b(1, outputs, 0, false, 3), y(outputs, columns, 5, true, 4);
  auto before = y;
  const NarrowProduct<T> product{w.at(),
                                 isTransposed ? 1 : w.stride(),
                                 isTransposed ? w.stride() : 1,
                                 x.at(),
                                 x.stride(),
                                 y.at(),
                                 y.stride(),
                                 outputs,
                                 inputs,
                                 columns,
                                 start == Start::bias ? b.at() : nullptr,
                                 start == Start::held};
  if (!product.pays()) return;
  product.run();
  EXPECT_TRUE(y.isIntact());
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t c = 0; c < columns; ++c) {
      Sum<T> sum;
      if (start != Start::zero) sum.add(start == Start::bias ? b(0, o) : before(o, c));
      for (std::size_t i = 0; i < inputs; ++i) sum.add(isTransposed ? w(i, o) : w(o, i), x(i, c));
      ASSERT_TRUE(sum.isNear(y(o, c)))
          << outputs << " x " << inputs << " x " << columns << ": " << o << " " << c;
    }
}

// Tiles of every height and what remains, pairs of terms and one without another, sums in one part and in several.
TYPED_TEST(NarrowProductTest, IsThatOfPlainLoops) {
  for (const std::size_t outputs : {1u, 2u, 3u, 4u, 7u, 12u, 13u, 23u, 24u, 33u, 65u})
    for (const std::size_t inputs : {1u, 2u, 5u, 24u, 255u, 256u, 257u, 600u})
      for (std::size_t columns = 2; columns <= laneCount<TypeParam>; ++columns)
        for (const Start start : {Start::zero, Start::bias, Start::held})
          for (const bool isTransposed : {false, true})
            expectNear<TypeParam>(outputs, inputs, columns, start, isTransposed);
}
TYPED_TEST(NarrowProductTest, IsForAtMostOneVectorOfColumns) {
  constexpr std::size_t lanes = laneCount<TypeParam>;
  const auto pays = [](std::size_t outputStride, std::size_t inputStride, std::size_t columns) {
    return NarrowProduct<TypeParam>{nullptr, outputStride, inputStride, nullptr, 8,       nullptr,
                                    8,       24,           24,          columns, nullptr, false}
        .pays();
  };
  EXPECT_EQ(pays(24, 1, lanes), NarrowProduct<TypeParam>::isPossible);
  EXPECT_EQ(pays(1, 24, lanes), NarrowProduct<TypeParam>::isPossible);
  EXPECT_FALSE(pays(24, 1, 1));
  EXPECT_FALSE(pays(24, 1, lanes + 1));
  EXPECT_FALSE(pays(24, 2, lanes));  // nothing lies side by side
}
// A large product is shared by rows, or by columns, of which a part may be narrow where the whole is not.
TYPED_TEST(NarrowProductTest, HasTheSameBitsForAnyNumberOfThreads) {
  for (const std::array<std::size_t, 3>& shape :
       {std::array<std::size_t, 3>{1025, 301, laneCount<TypeParam>}, {70, 400, 68}, {36, 120, 515}})
    for (const bool isTransposed : {false, true}) {
      const std::size_t outputs = shape[0], inputs = shape[1], columns = shape[2];
      GuardedMatrix<TypeParam> w(isTransposed ? inputs : outputs, isTransposed ? outputs : inputs, 1, false,
                                 1),
          x(inputs, columns, 0, false, 2), alone(outputs, columns, 0, true, 3), shared = alone;
      const auto run = [&](GuardedMatrix<TypeParam>& y) {
        Product<TypeParam>{w.at(),
                           isTransposed ? 1 : w.stride(),
                           isTransposed ? w.stride() : 1,
                           {x.at(), x.stride()},
                           {y.at(), y.stride()},
                           outputs,
                           inputs,
                           columns}
            .run();
      };
      run(alone);
      ThreadPool pool(3);
      const CurrentWorkers here(pool);
      run(shared);
      for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(alone(o, c), shared(o, c)) << o << " " << c;
    }
}

}  // namespace narrow_product_test
}  // namespace burtorch::nn

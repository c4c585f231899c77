// A matrix times one vector, and its gradients, beside plain loops.
#include <burtorch/nn/vector_product.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace vector_product_test {

template <class T> class VectorProductTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(VectorProductTest, Scalars);

/// Calls `check(outputs, inputs)` for whole vectors and rests of inputs, groups and rests of outputs.
template <class Check> void forEachShape(Check check) {
  for (const std::size_t outputs : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 13u})
    for (const std::size_t inputs : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 12u, 15u, 16u, 17u, 24u, 31u, 65u, 136u})
      check(outputs, inputs);
}

template <class T> void expectProducts(bool hasBias, bool isAdded) {
  forEachShape([&](std::size_t outputs, std::size_t inputs) {
    GuardedMatrix<T> w(outputs, inputs, 3, false, 1), x(1, inputs, 0, false, 2), b(1, outputs, 0, false, 3);
    GuardedMatrix<T> y(1, outputs, 0, true, 4);
    auto before = y;
    vectorProduct<T>({w.at(), w.stride()}, x.at(), hasBias ? b.at() : nullptr, y.at(), outputs, inputs,
                     isAdded);
    for (std::size_t o = 0; o < outputs; ++o) {
      Sum<T> sum;
      if (isAdded)
        sum.add(before(0, o));
      else if (hasBias)
        sum.add(b(0, o));
      for (std::size_t i = 0; i < inputs; ++i) sum.add(w(o, i), x(0, i));
      EXPECT_TRUE(sum.isNear(y(0, o))) << o << " of " << outputs << " x " << inputs;
    }
    EXPECT_TRUE(y.isIntact()) << outputs << " x " << inputs;
  });
}

TYPED_TEST(VectorProductTest, StartsFromZero) { expectProducts<TypeParam>(false, false); }
TYPED_TEST(VectorProductTest, StartsFromABias) { expectProducts<TypeParam>(true, false); }
TYPED_TEST(VectorProductTest, IsAddedToWhatIsThere) { expectProducts<TypeParam>(false, true); }
// The second of several inputs: the bias is in already.
TYPED_TEST(VectorProductTest, AddsTheBiasOnlyOnce) { expectProducts<TypeParam>(true, true); }

template <class T> void expectSlopes(bool isAdded) {
  forEachShape([&](std::size_t outputs, std::size_t inputs) {
    GuardedMatrix<T> w(outputs, inputs, 3, false, 1), x(1, inputs, 0, false, 2), gy(1, outputs, 0, false, 3);
    GuardedMatrix<T> gx(1, inputs, 0, true, 4), gw(outputs, inputs, 2, true, 5);
    auto gxBefore = gx, gwBefore = gw;
    vectorProductVjp<T>({w.at(), w.stride()}, x.at(), gy.at(), gx.at(), {gw.at(), gw.stride()}, outputs,
                        inputs, isAdded);
    for (std::size_t i = 0; i < inputs; ++i) {
      Sum<T> sum;
      sum.add(gxBefore(0, i));
      for (std::size_t o = 0; o < outputs; ++o) {
        sum.add(gy(0, o), w(o, i));
        Sum<T> weight;
        if (isAdded) weight.add(gwBefore(o, i));
        weight.add(gy(0, o), x(0, i));
        EXPECT_TRUE(weight.isNear(gw(o, i))) << o << ", " << i << " of " << outputs << " x " << inputs;
      }
      EXPECT_TRUE(sum.isNear(gx(0, i))) << i << " of " << outputs << " x " << inputs;
    }
    EXPECT_TRUE(gx.isIntact() && gw.isIntact()) << outputs << " x " << inputs;
  });
}

TYPED_TEST(VectorProductTest, SlopeOfTheWeightsIsStored) { expectSlopes<TypeParam>(false); }
TYPED_TEST(VectorProductTest, SlopeOfTheWeightsIsAdded) { expectSlopes<TypeParam>(true); }

}  // namespace vector_product_test
}  // namespace burtorch::nn

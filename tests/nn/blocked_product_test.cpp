// Products of large matrices beside plain loops, over every border of a block and a tile.
#include <sys/mman.h>
#include <unistd.h>

#include <burtorch/nn/blocked_product.hpp>
#include <limits>
#include <numeric>
#include <thread>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace blocked_product_test {

template <class T> class BlockedProductTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockedProductTest, Scalars);

enum class Start { zero, bias, held };
struct Shape {
  std::size_t rows, columns, inner;
};

/// Factors are read in rows, or in columns.
template <class T> void expectProduct(Shape s, Start start, bool turnsA, bool turnsB) {
  GuardedMatrix<T> a(turnsA ? s.inner : s.rows, turnsA ? s.rows : s.inner, 2, false, 1);
  GuardedMatrix<T> b(turnsB ? s.columns : s.inner, turnsB ? s.inner : s.columns, 3, false, 2);
  GuardedMatrix<T> bias(1, s.rows, 0, false, 3), c(s.rows, s.columns, 5, true, 4);
  auto before = c;
  BlockedProduct<T>{{a.at(), turnsA ? 1 : a.stride(), turnsA ? a.stride() : 1},
                    {b.at(), turnsB ? 1 : b.stride(), turnsB ? b.stride() : 1},
                    c.at(),
                    c.stride(),
                    s.rows,
                    s.columns,
                    s.inner,
                    start == Start::bias ? bias.at() : nullptr,
                    start == Start::held}
      .run();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t j = 0; j < s.columns; ++j) {
      Sum<T> sum;
      if (start != Start::zero) sum.add(start == Start::bias ? bias(0, i) : before(i, j));
      for (std::size_t k = 0; k < s.inner; ++k)
        sum.add(turnsA ? a(k, i) : a(i, k), turnsB ? b(j, k) : b(k, j));
      wrong += sum.isNear(c(i, j)) ? 0 : 1;
    }
  EXPECT_EQ(wrong, 0u) << s.rows << " x " << s.inner << " by " << s.columns;
  EXPECT_TRUE(c.isIntact()) << s.rows << " x " << s.inner << " by " << s.columns;
}

// Every height and width of a tile, and what remains.
TYPED_TEST(BlockedProductTest, TakesEveryNumberOfRowsAndColumns) {
  for (std::size_t n = 1; n <= 40; ++n) {
    expectProduct<TypeParam>({n, 35, 5}, Start::held, n % 2 == 0, n % 3 == 0);
    expectProduct<TypeParam>({14, n, 3}, Start::bias, n % 3 == 0, n % 2 == 0);
    expectProduct<TypeParam>({13, 17, n}, Start::zero, n % 2 == 0, n % 3 == 0);
  }
}
/// Numbers that end where memory ends: whoever reads one more does not come back.
template <class T> class NumbersAtTheEnd {
 public:
  explicit NumbersAtTheEnd(std::size_t count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (count * sizeof(T) + page - 1) / page * page + page;
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    auto* const end = static_cast<std::byte*>(memory_) + bytes_ - page;
    mprotect(end, page, PROT_NONE);
    numbers_ = reinterpret_cast<T*>(end) - count;
    std::iota(numbers_, numbers_ + count, T{1});
  }
  NumbersAtTheEnd(const NumbersAtTheEnd&) = delete;
  NumbersAtTheEnd& operator=(const NumbersAtTheEnd&) = delete;
  ~NumbersAtTheEnd() { munmap(memory_, bytes_); }
  const T* at() const { return numbers_; }

 private:
  void* memory_;
  std::size_t bytes_;
  T* numbers_;
};

// As parameters do that lie at the end of a store, or of a mapped file.
TYPED_TEST(BlockedProductTest, ReadsNothingBehindItsFactors) {
  for (std::size_t rows = 1; rows <= 40; ++rows)
    for (const std::size_t inner : {std::size_t{9}, std::size_t{300}})
      for (const std::size_t columns : {std::size_t{7}, std::size_t{40}}) {
        const NumbersAtTheEnd<TypeParam> a(rows * inner), b(inner * columns), bias(rows);
        std::vector<TypeParam> c(rows * columns);
        BlockedProduct<TypeParam>{{a.at(), inner, 1},
                                  {b.at(), columns, 1},
                                  c.data(),
                                  columns,
                                  rows,
                                  columns,
                                  inner,
                                  bias.at(),
                                  false}
            .run();
        BlockedProduct<TypeParam>{
            {a.at(), 1, rows}, {b.at(), 1, inner}, c.data(), columns, rows, columns, inner, bias.at(), false}
            .run();
      }
}
// Blocks have 256 columns, 256 terms, and 96 or 192 rows.
TYPED_TEST(BlockedProductTest, CrossesTheBordersOfItsBlocks) {
  for (const Shape shape : {Shape{95, 7, 11},
                            {97, 9, 3},
                            {193, 33, 2},
                            {400, 5, 7},
                            {3, 255, 4},
                            {5, 257, 3},
                            {2, 600, 5},
                            {4, 9, 255},
                            {7, 33, 257},
                            {13, 34, 513},
                            {200, 260, 270}})
    for (const Start start : {Start::zero, Start::bias, Start::held})
      for (const bool turnsA : {false, true})
        for (const bool turnsB : {false, true}) expectProduct<TypeParam>(shape, start, turnsA, turnsB);
}
// Rows that begin at equal places of a page.
TYPED_TEST(BlockedProductTest, TakesStridesThatArePowersOfTwo) {
  using T = TypeParam;
  constexpr std::size_t n = 1024;
  std::vector<T> a(n * 30), b(n * 60), c(n * 30, T{7});
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = T(i % 13) - T(6);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = T(i % 7) - T(3);
  BlockedProduct<T>{{a.data(), n, 1}, {b.data(), n, 1}, c.data(), n, 30, 40, 60}.run();
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = 0; j < 40; ++j) {
      T sum{0};  // of small integers: exact
      for (std::size_t k = 0; k < 60; ++k) sum += a[i * n + k] * b[k * n + j];
      ASSERT_EQ(c[i * n + j], sum) << i << ", " << j;
    }
  EXPECT_EQ(c[40], T{7});
}
// What fills up a tile is multiplied too, and must not reach a neighbour.
TYPED_TEST(BlockedProductTest, NeighboursOfInfinitiesStayFinite) {
  using T = TypeParam;
  constexpr T inf = std::numeric_limits<T>::infinity();
  std::vector<T> a(13 * 50, T{1}), b(50 * 33, T{1}), c(13 * 33);
  for (std::size_t k = 0; k < 50; ++k) a[12 * 50 + k] = inf;
  for (std::size_t k = 0; k < 50; ++k) b[k * 33 + 32] = inf;
  BlockedProduct<T>{{a.data(), 50, 1}, {b.data(), 33, 1}, c.data(), 33, 13, 33, 50}.run();
  for (std::size_t i = 0; i < 13; ++i)
    for (std::size_t j = 0; j < 33; ++j)
      ASSERT_EQ(c[i * 33 + j], i == 12 || j == 32 ? inf : T{50}) << i << ", " << j;
}
// The copies are a thread's own.
TYPED_TEST(BlockedProductTest, ThreadsDoNotDisturbEachOther) {
  using T = TypeParam;
  const std::vector<T> a(300 * 300, T{0.5}), b(300 * 300, T{0.25});
  const auto work = [&](std::vector<T>& c) {
    for (int repeat = 0; repeat < 5; ++repeat)
      BlockedProduct<T>{{a.data(), 300, 1}, {b.data(), 1, 300}, c.data(), 300, 300, 300, 300}.run();
  };
  std::vector<T> c(300 * 300), d(300 * 300);
  std::thread other([&] { work(d); });
  work(c);
  other.join();
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_TRUE(c[i] == T{37.5} && d[i] == T{37.5}) << i;
}

}  // namespace blocked_product_test
}  // namespace burtorch::nn

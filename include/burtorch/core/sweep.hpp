// The reverse sweep. Nodes are appended after their operands, so walking the instructions backwards is already a
// topological order: no sort, no visited set, no recursion. Cost: one pass over what lies below the root; memory: none.
//
// A node that the root does not depend on has gradient 0 and passes on zeros, which changes nothing, unless its slope
// is infinite: 0 * inf = NaN. PyTorch passes that NaN on from a node that was reached with gradient 0, and passes
// nothing on from a node that was never reached. So does this sweep: where a NaN comes out of a zero, it goes on with
// the careful walk, which knows exactly what was reached. Ordinary graphs never go there and never pay for it.
#pragma once

#include "current_tape.hpp"
#include "layer.hpp"
#include "slope_reads.hpp"

namespace burtorch {

/// The constant of an instruction.
template <class T> PlainOf<T> constantAt(const Index* words, Index at) {
  PlainOf<T> constant;
  std::memcpy(&constant, words + at, sizeof constant);
  return constant;
}

/// What a scalar operator passes to its operands when `g` arrives at `node`. One or two numbers.
template <class Op, class T> struct Slopes {
  static constexpr bool isPair = Op::arity == Arity::binary;
  T x, y;

  BURTORCH_INLINE Slopes(const T* v, const Index* words, Instruction code, Index node, T g) {
    if constexpr (Op::arity == Arity::unary) {
      x = Op::slope(g, v[code.a()], v[node]);
    } else if constexpr (Op::arity == Arity::constant) {
      x = Op::slope(g, v[code.a()], constantAt<T>(words, code.b()), v[node]);
    } else {
      x = Op::slopeX(g, v[code.a()], v[code.b()], v[node]);
      y = Op::slopeY(g, v[code.a()], v[code.b()], v[node]);
    }
  }

  /// Whether the slope depends on numbers at all; that of x + y does not, and never makes a NaN out of a zero.
  static constexpr bool readValues = Op::arity == Arity::constant || !slopeReads<Op, T>().readsNothing();
  BURTORCH_INLINE bool hasNan() const {
    if constexpr (!readValues)
      return false;
    else if constexpr (isPair)
      return ScalarTraits<T>::isNan(x, y);
    else
      return ScalarTraits<T>::isNan(x);
  }
};

template <class Op>
inline constexpr bool isScalarOp =
    Op::arity == Arity::unary || Op::arity == Arity::binary || Op::arity == Arity::constant;

/// Passes the gradient of one instruction on to its operands; `last` is the last scalar that it wrote. Answers false,
/// and passes nothing on, if a NaN would come out of a zero and the node is not known to be reached.
template <class Op, class T>
[[gnu::noinline]] bool pull(Frame<T> frame, Instruction code, Index last, bool isReached) {
  const T g = frame.gradients[last];
  const auto values = [&](const ListShape& shape) { return List<T>{frame.values, shape}; };
  const auto gradients = [&](const ListShape& shape) {  // data has none
    return GradientList<T>{shape.form == ListForm::numbers ? nullptr : frame.gradients, shape};
  };
  if constexpr (Op::arity == Arity::leaf) {
    return true;
  } else if constexpr (isScalarOp<Op>) {
    const Slopes<Op, T> slopes(frame.values, frame.words, code, last, g);
    if (!isReached && slopes.hasNan() && ScalarTraits<T>::isZero(g)) return false;
    frame.gradients[code.a()] = frame.gradients[code.a()] + slopes.x;
    if constexpr (slopes.isPair) frame.gradients[code.b()] = frame.gradients[code.b()] + slopes.y;
    return true;
  } else {
    constexpr bool writesMany = infoOf<Op>().writesMany();
    if (!isReached) {
      // Of the library's own list operators, and of layers without poles, finite results have finite slopes; zeros
      // arriving here are then only zeros further down.
      const Index first = last + 1 - (writesMany ? code.b() : 1);
      bool isZero = true, isFinite = OpList::contains<Op>;
      if constexpr (Op::arity == Arity::layer) isFinite = !Op::hasPoles;
      for (Index node = first; node <= last && isZero; ++node)
        isZero = ScalarTraits<T>::isZero(frame.gradients[node]);
      for (Index node = first; node <= last && isZero; ++node)
        isFinite = isFinite && ScalarTraits<T>::isFinite(frame.values[node]);
      if (isZero) return isFinite;
    }
    const Index* at = frame.words + code.a();
    if constexpr (Op::arity == Arity::layer) {
      Op::slope(Layer<T>{frame, at, last + 1 - code.b()});
    } else if constexpr (Op::arity == Arity::pair) {
      if constexpr (Op::hasBias) {
        frame.gradients[at[0]] = frame.gradients[at[0]] + g;
        ++at;
      }
      const auto xs = ListShape::decode(at, code.b());
      const auto ys = ListShape::decode(at + xs.wordCount(), code.b());
      Op::slope(g, values(xs), values(ys), gradients(xs), gradients(ys));
    } else {
      const auto xs = ListShape::decode(at, code.b());
      const Index first = last + 1 - code.b();
      if constexpr (Op::arity == Arity::block)
        Op::slope(frame.gradients + first, values(xs), frame.values + first, gradients(xs));
      else if constexpr (Op::takesIndex)
        Op::slope(g, values(xs), frame.values[last], gradients(xs), std::size_t{at[xs.wordCount()]});
      else
        Op::slope(g, values(xs), frame.values[last], gradients(xs));
    }
    return true;
  }
}

/// Computes the results of one instruction anew; `last` is the last scalar that it writes.
template <class Op, class T>
BURTORCH_INLINE void compute(T* values, const Index* words, Instruction code, Index last) {
  const auto listAt = [&](const Index* at) { return List<T>{values, ListShape::decode(at, code.b())}; };
  if constexpr (Op::arity == Arity::unary) {
    values[last] = apply<Op>(values[code.a()]);
  } else if constexpr (Op::arity == Arity::constant) {
    values[last] = applyConstant<Op>(values[code.a()], constantAt<T>(words, code.b()));
  } else if constexpr (Op::arity == Arity::binary) {
    values[last] = apply<Op>(values[code.a()], values[code.b()]);
  } else if constexpr (Op::arity == Arity::pair) {
    const List<T> xs = listAt(words + code.a() + (Op::hasBias ? 1 : 0));
    const T sum = Op::value(xs, listAt(words + code.a() + (Op::hasBias ? 1 : 0) + xs.shape.wordCount()));
    values[last] = Op::hasBias ? sum + values[words[code.a()]] : sum;
  } else if constexpr (Op::arity == Arity::block) {
    Op::value(listAt(words + code.a()), values + (last + 1 - code.b()));
  } else if constexpr (Op::arity == Arity::layer) {
    const Index first = last + 1 - code.b();
    Op::value(Layer<T>{{values, nullptr, words}, words + code.a(), first}, values + first);
  } else if constexpr (Op::arity == Arity::varying) {
    const List<T> xs = listAt(words + code.a());
    if constexpr (Op::takesIndex)
      values[last] = Op::value(xs, std::size_t{words[code.a() + xs.shape.wordCount()]});
    else
      values[last] = Op::value(xs);
  }
}

/// A user's operator needs no opcode of its own: the tape keeps a pointer to this.
template <class Op, class T> void computeUser(T* values, const Index* words, Instruction code, Index last) {
  compute<Op, T>(values, words, code, last);
}
template <class Op, class T>
inline constexpr UserOp<T> userOpOf{infoOf<Op>(), &pull<Op, T>, &computeUser<Op, T>};

template <class Op, class T, Config C> BURTORCH_INLINE Opcode opcodeOn([[maybe_unused]] Tape<T, C>& tape) {
  if constexpr (OpList::contains<Op>)
    return OpList::indexOf<Op>();
  else
    return tape.userOpcode(&userOpOf<Op, T>);
}

template <class T, Config C> class Sweep {
  using Traits = ScalarTraits<T>;
  using Position = typename Tape<T, C>::Position;

 public:
  explicit Sweep(Tape<T, C>& tape) : tape_(tape) {}

  /// Forgets what an earlier sweep left at inner nodes; leaves keep theirs and accumulate.
  BURTORCH_INLINE void clearInner() {
    if (tape_.sweptCode() > tape_.leadingLeaves()) [[unlikely]]
      clearSwept();
  }

  /// Puts the seed of a single root in place. An inner node's gradient is zero by now: it is set without being read,
  /// because what was just written comes back from memory only some nine cycles later.
  BURTORCH_INLINE void seed(Position position, Index root, T seed) {
    if (tape_.code()[position.instruction].op() == OpList::indexOf<ops::Leaf>()) return addSeed(root, seed);
    tape_.frame().gradients[root] = seed;
  }
  void addSeed(Index root, T seed) {
    T* gradients = tape_.frame().gradients;
    gradients[root] = gradients[root] + seed;
  }

  /// Sweeps from the instruction at `root`, where `g` has arrived, downwards. The seeds are in place, the other inner
  /// gradients are zero. `forEachRoot(visit)` names the other nodes that have seeds.
  template <class ForEachRoot> BURTORCH_INLINE void run(Position root, T g, ForEachRoot forEachRoot) {
    const Instruction* stoppedAt = runFast(tape_, root.instruction, root.last, g);
    if (stoppedAt != nullptr) [[unlikely]]
      runCarefully(root, static_cast<std::size_t>(stoppedAt - tape_.code()), forEachRoot);
  }
  BURTORCH_INLINE void run(Position root, T g) {
    run(root, g, [](auto) {});
  }

  /// Visits only what the roots depend on. `isReached(node)` and `setReached(node)` keep the books; instructions above
  /// `resume` have passed their gradients on already.
  template <class IsReached, class SetReached>
  void runReached(Position root, std::size_t resume, IsReached isReached, SetReached setReached) {
    walk(root, [&](Instruction code, const OpInfo& info, Index first, Index last, std::size_t k) {
      bool isNeeded = false;
      for (Index node = first; node <= last; ++node) isNeeded = isNeeded || isReached(node);
      if (!isNeeded) return;
      if (k <= resume) pullFunction(code.op())(tape_.frame(), code, last, true);
      forEachOperand(code, info, tape_.words(), setReached);
    });
  }

 private:
  /// Answers where a NaN came out of a zero, or nullptr if all is done.
  [[gnu::noinline]] static const Instruction* runFast(const Tape<T, C>& tape, std::size_t root, Index last,
                                                      T g);
  [[gnu::noinline]] void clearSwept();

  /// Continues a sweep with exact knowledge of what was reached, written into the sign of the zeros: -0 is "never".
  template <class ForEachRoot>
  [[gnu::cold, gnu::noinline]] void runCarefully(Position root, std::size_t resume, ForEachRoot forEachRoot) {
    T* g = tape_.frame().gradients;
    const auto setReached = [g](Index node) {
      if (Traits::isUnreached(g[node])) g[node] = T{0};
    };
    walk(root, [&](Instruction, const OpInfo& info, Index first, Index last) {
      if (info.arity == Arity::leaf) return;
      for (Index node = first; node <= last; ++node)
        if (Traits::isZero(g[node])) g[node] = Traits::unreached();
    });
    setReached(root.last);
    forEachRoot(setReached);
    runReached(
        root, resume, [g](Index node) { return !Traits::isUnreached(g[node]); }, setReached);
  }

  using Pull = bool (*)(Frame<T>, Instruction, Index, bool);
  Pull pullFunction(Opcode op) const { return op < firstUserOpcode ? pulls[op] : tape_.userOp(op)->pull; }

  /// Calls `visit(instruction, info, first, last[, k])` for every instruction from `from` down to the leading leaves.
  template <class Visit> void walk(Position from, Visit visit) {
    Index last = from.last;
    for (std::size_t k = from.instruction + 1; k-- > tape_.leadingLeaves();) {
      const Instruction code = tape_.code()[k];
      const OpInfo& info = tape_.infoOf(code.op());
      const Index first = last + 1 - (info.writesMany() ? code.b() : 1);
      if constexpr (std::is_invocable_v<Visit, Instruction, const OpInfo&, Index, Index, std::size_t>)
        visit(code, info, first, last, k);
      else
        visit(code, info, first, last);
      last = first - 1;
    }
  }

  static const std::array<Pull, OpList::size> pulls;
  Tape<T, C>& tape_;
};

// Out of the class: functions in it are inline, and compilers do not leave those to another file.
template <class T, Config C>
const std::array<typename Sweep<T, C>::Pull, OpList::size> Sweep<T, C>::pulls =
    []<class... Ops>(TypeList<Ops...>) {
      return std::array<Pull, sizeof...(Ops)>{&pull<Ops, T>...};
    }(OpList{});

template <class T, Config C>
const Instruction* Sweep<T, C>::runFast(const Tape<T, C>& tape, std::size_t root, Index last, T g) {
  // Three pointers, not a Frame: they must stay in registers across the calls below.
  const T* const values = tape.frame().values;
  T* const gradients = tape.frame().gradients;
  const Index* const words = tape.frame().words;
  const Instruction* const stop = tape.code() + tape.leadingLeaves();
  const Instruction* code = tape.code() + root + 1;
  enum class Step { next, done, nanFromZero } step;
  // The gradient of the node at hand, g, is carried in a register: most nodes feed the very next one down, and a
  // number that goes through memory is back only some nine cycles later. A tape begins with a leaf or a layer, so
  // only these have to look whether the walk has arrived.
  do {
    const Instruction here = *--code;
    step = Step::next;
    const auto visit = [&]<class Op>() __attribute__((always_inline)) {
      if constexpr (isScalarOp<Op>) {
        const Index below = last - 1;
        T next = gradients[below];
        const Slopes<Op, T> slopes(values, words, here, last, g);
        if (slopes.hasNan() && Traits::isZero(g)) [[unlikely]] {
          step = Step::nanFromZero;
          return;
        }
        const T x = gradients[here.a()] + slopes.x;
        gradients[here.a()] = x;
        if constexpr (slopes.isPair) {
          const T y = gradients[here.b()] + slopes.y;
          gradients[here.b()] = y;
          if (here.b() == below)
            next = y;
          else if (here.a() == below)
            next = x;
        } else if (here.a() == below) {
          next = x;
        }
        last = below;
        g = next;
      } else if constexpr (Op::arity == Arity::leaf) {
        if (code < stop) {
          step = Step::done;
          return;
        }
        last -= here.b();
        g = gradients[last];
      } else {
        if (!pull<Op, T>({values, gradients, words}, here, last, false)) [[unlikely]]
          step = Step::nanFromZero;
        last -= infoOf<Op>().writesMany() ? here.b() : 1;
        g = gradients[last];
      }
    };
    if (!OpList::visitAt(here.op(), visit)) {
      const UserOp<T>& op = *tape.userOp(here.op());
      if (!op.pull(tape.frame(), here, last, false))
        step = Step::nanFromZero;
      else if (code <= stop)  // a layer that reads only parameters may be the first instruction of all
        step = Step::done;
      last -= op.info.writesMany() ? here.b() : 1;
      if (step == Step::next) g = gradients[last];
    }
  } while (step == Step::next);
  return step == Step::done ? nullptr : code;
}

template <class T, Config C> void Sweep<T, C>::clearSwept() {
  T* gradients = tape_.frame().gradients;
  walk(tape_.at(tape_.sweptCode() - 1), [&](Instruction, const OpInfo& info, Index first, Index last) {
    if (info.arity == Arity::leaf) return;
    for (Index node = first; node <= last; ++node) gradients[node] = T{0};
  });
}

#ifdef BURTORCH_COMPILED  // by the target burtorch::compiled, which holds them (src/instances.cpp)
extern template class Sweep<double, defaultConfig>;
extern template class Sweep<float, defaultConfig>;
#endif

}  // namespace burtorch

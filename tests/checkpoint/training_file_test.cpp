// A training that is saved and loaded goes on with the same bits, and a file that does not fit changes nothing.
#include "burtorch/checkpoint/training_file.hpp"

#include <gtest/gtest.h>

#include <map>

#include "burtorch/model/char_mlp.hpp"
#include "burtorch/nn/initialise.hpp"
#include "burtorch/oracle/token_oracle.hpp"
#include "burtorch/train/training.hpp"
#include "io/safetensors_cases.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace training_file_test {

struct Samples {
  std::size_t size() const { return 40; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t k = 0; k < tokens.size(); ++k) tokens[k] = static_cast<TokenId>((3 * i + k * k) % 7);
    targets[0] = static_cast<TokenId>(5 * i % 7);
  }
};
template <class... Rules> std::vector<std::string> namesOf(const std::variant<Rules...>&) {
  return {std::string(Rules::name)...};
}
template <class T> std::string bytesOf(std::span<T> numbers) {
  const auto bytes = std::as_bytes(numbers);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A character MLP in training, with everything that depends on the step.
template <class T> struct Session {
  using Oracle = TokenOracle<CharMlp<T>, Samples>;
  CharMlp<T> model;
  ParameterStore<T> parameters;
  Oracle train, validation;
  Optimizer<T> optimizer;
  Training<Oracle, Oracle> training;

  explicit Session(const std::string& rule, std::uint64_t seed, std::uint64_t steps = 100,
                   std::size_t hidden = 6)
      : model({.vocabulary = 7, .context = 3, .embedding = 4, .hidden = hidden}),
        parameters(model.layout()),
        train(model, parameters, Samples{}, 4),
        validation(model, parameters, Samples{}, 4),
        optimizer(methodFromName(rule, std::vector<Setting>{{"weightDecay", 0.01}}), parameters.size()),
        training(train, validation, optimizer,
                 Schedule{WarmupCosine{.learningRate = 0.02, .warmupSteps = 30, .totalSteps = 100}},
                 {.steps = steps, .batch = 5, .clipNorm = 1}, seed) {
    Rng rng(seed, 1);
    parameters.initialise(rng);
  }

  void run() {
    EXPECT_EQ(training.run([](const TrainingStep&) { return true; }), StopReason::finished);
  }
  void save(const std::string& path) {
    saveTraining(path, parameters, optimizer, training.rng(), {{"of", "the caller"}});
  }
  void load(const std::string& path) {
    loadTraining(SafetensorsFile(path), parameters, optimizer, training.rng());
  }
  /// All that the next step depends on, as bytes.
  std::map<std::string, std::string> state() {
    return {{"parameters", bytesOf(parameters.values())},
            {"state", bytesOf(optimizer.state())},
            {"step", std::to_string(optimizer.steps())},
            {"random", std::to_string(training.rng().state())}};
  }
};

template <class T> class TrainingFile : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(TrainingFile, Numbers);

TYPED_TEST(TrainingFile, AHundredStepsAreFiftyAndFiftyAfterALoad) {
  for (const std::string& rule : namesOf(AnyMethod())) {
    const Scratch scratch;
    Session<TypeParam> whole(rule, 1), first(rule, 1, 50), second(rule, 99);
    whole.run();
    first.run();
    first.save(scratch.path("f"));
    second.load(scratch.path("f"));
    EXPECT_EQ(second.state(), first.state()) << rule;
    second.run();
    EXPECT_EQ(second.state(), whole.state()) << rule;
    EXPECT_NE(second.state(), first.state()) << rule;
  }
}
TYPED_TEST(TrainingFile, EveryPartOfTheStateMatters) {
  const Scratch scratch;
  Session<TypeParam> whole("adam", 1), first("adam", 1, 50);
  whole.run();
  first.run();
  first.save(scratch.path("f"));
  for (int part = 0; part < 4; ++part) {
    Session<TypeParam> second("adam", 99);
    second.load(scratch.path("f"));
    if (part == 0) second.parameters.values()[0] += TypeParam(0.5);
    if (part == 1) second.optimizer.state()[0] += TypeParam(0.5);
    if (part == 2) second.optimizer.setSteps(49);
    if (part == 3) second.training.rng().next();
    second.run();
    EXPECT_NE(second.state()["parameters"], whole.state()["parameters"]) << part;
  }
}
TYPED_TEST(TrainingFile, NumbersThatAreNotFiniteKeepTheirBits) {
  const Scratch scratch;
  Session<TypeParam> saved("adam", 1), loaded("adam", 2);
  saved.parameters.values()[3] = -std::numeric_limits<TypeParam>::quiet_NaN();
  saved.optimizer.state()[5] = std::numeric_limits<TypeParam>::denorm_min();
  saved.save(scratch.path("f"));
  loaded.load(scratch.path("f"));
  EXPECT_EQ(loaded.state(), saved.state());
}

TEST(TrainingFiles, NumbersOf64BitsAreExact) {
  const Scratch scratch;
  for (const std::uint64_t number : {UINT64_C(0), (UINT64_C(1) << 53) + 1, UINT64_MAX}) {
    Session<float> saved("momentum", 1), loaded("momentum", 2);
    saved.optimizer.setSteps(number);
    saved.training.rng().setState(~number);
    saved.save(scratch.path("f"));
    loaded.load(scratch.path("f"));
    EXPECT_EQ(loaded.optimizer.steps(), number);
    EXPECT_EQ(loaded.training.rng().state(), ~number);
  }
}
TEST(TrainingFiles, HoldParametersUnderTheirNamesAndTheTextsOfTheCaller) {
  const Scratch scratch;
  Session<float> saved("adamw", 1);
  saved.save(scratch.path("f"));
  const SafetensorsFile file(scratch.path("f"));
  EXPECT_EQ(file.tensors().size(), saved.model.layout().blocks().size() + 1);
  EXPECT_EQ(file.tensor("hidden.weight").shape, (std::vector<std::uint64_t>{6, 12}));
  EXPECT_EQ(file.tensor("optimizer.memory").shape[0], 2 * saved.parameters.size());
  EXPECT_EQ(file.metadata().at("training.optimizer"), "adamw");
  EXPECT_EQ(file.metadata().at("of"), "the caller");
}
TEST(TrainingFiles, ARuleIsKnownByItsName) {
  const Scratch scratch;
  Session<float> saved("adamw", 1, 3), other("adamw", 2);
  saved.run();
  saved.save(scratch.path("f"));
  Optimizer<float, AdamW> alone(AdamW{}, saved.optimizer.parameterCount());
  loadTraining(SafetensorsFile(scratch.path("f")), other.parameters, alone, other.training.rng());
  EXPECT_EQ(alone.steps(), 3U);
  EXPECT_EQ(bytesOf(alone.state()), bytesOf(saved.optimizer.state()));
}

TEST(TrainingFiles, GiveTheirParametersToAProgramThatOnlyUsesTheModel) {
  const Scratch scratch;
  Session<float> saved("adam", 3), other("sgd", 4);
  saved.save(scratch.path("f"));
  loadParameters(SafetensorsFile(scratch.path("f")), other.parameters);
  EXPECT_EQ(bytesOf(other.parameters.values()), bytesOf(saved.parameters.values()));
}

/// Loads a file into a training with adam, which must stay as it was, and answers what was said.
std::string refusalOf(const std::string& path) {
  Session<float> session("adam", 7, 5);
  session.run();
  const auto before = session.state();
  std::string sentence = sentenceOf([&] { session.load(path); });
  EXPECT_EQ(session.state(), before) << sentence;
  EXPECT_LT(sentence.size(), 255U);
  return sentence;
}
/// A file with the parameters of the session of refusalOf, with this optimiser state and these texts.
std::string fileWith(const Scratch& scratch, std::span<const float> memory, const Metadata& metadata,
                     const std::string& more = "") {
  Session<float> session("adam", 1);
  std::vector<TensorView> tensors = safetensors::viewsOf(session.parameters);
  tensors.emplace_back("optimizer.memory", std::vector<std::uint64_t>{memory.size()}, memory);
  if (!more.empty()) tensors.emplace_back(more, std::vector<std::uint64_t>{0}, std::span<const float>());
  saveSafetensors(scratch.path("f"), tensors, metadata);
  return scratch.path("f");
}

TEST(TrainingFilesThatDoNotFit, OfAnotherRule) {
  const Scratch scratch;
  for (const char* rule : {"sgd", "momentum", "adamw"}) {  // adamw has as much state
    Session<float>(rule, 1).save(scratch.path("f"));
    EXPECT_TRUE(contains(refusalOf(scratch.path("f")), std::string("'") + rule + "', this one is 'adam'"));
  }
}
TEST(TrainingFilesThatDoNotFit, OfAnotherModel) {
  const Scratch scratch;
  Session<float>("adam", 1, 100, 5).save(scratch.path("f"));
  EXPECT_TRUE(contains(refusalOf(scratch.path("f")), "expected [6,12]; was the model of another size?"));
  ParameterLayout layout;
  layout.add("w", ParameterRole::weight, 3);
  ParameterStore<float> parameters(layout);
  saveTraining(scratch.path("f"), parameters, Optimizer<float>(Adam{}, 3), Rng(1));
  EXPECT_TRUE(contains(refusalOf(scratch.path("f")), "lacks the parameter 'embedding.weight'"));
}
TEST(TrainingFilesThatDoNotFit, OfAnotherType) {
  const Scratch scratch;
  Session<double>("adam", 1).save(scratch.path("f"));
  EXPECT_TRUE(contains(refusalOf(scratch.path("f")), "in F64, the training is in F32"));
}
TEST(TrainingFilesThatDoNotFit, AModelWithoutState) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  saveParameters(scratch.path("f"), session.parameters);
  EXPECT_TRUE(contains(refusalOf(scratch.path("f")), "it holds no state of a training"));
}
TEST(TrainingFilesThatDoNotFit, StateWithoutItsMemoryOrItsModel) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  const Metadata state{{"training.optimizer", "adam"}, {"training.step", "1"}, {"training.random", "2"}};
  saveParameters(scratch.path("f"), session.parameters, state);
  EXPECT_TRUE(contains(refusalOf(scratch.path("f")), "has no tensor 'optimizer.memory'"));
  const TensorView memory("optimizer.memory", {session.optimizer.state().size()},
                          std::span<const float>(session.optimizer.state()));
  saveSafetensors(scratch.path("f"), {&memory, 1}, state);
  EXPECT_TRUE(contains(refusalOf(scratch.path("f")), "lacks the parameter"));
}
TEST(TrainingFilesThatDoNotFit, MemoryOfAnotherSizeOrATensorTooMany) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  const std::span<const float> memory = session.optimizer.state();
  const Metadata state{{"training.optimizer", "adam"}, {"training.step", "1"}, {"training.random", "2"}};
  EXPECT_TRUE(contains(refusalOf(fileWith(scratch, memory.subspan(1), state)), "numbers, expected"));
  EXPECT_TRUE(contains(refusalOf(fileWith(scratch, memory, state, "more")), "has the tensor 'more'"));
  session.load(fileWith(scratch, memory, state));
  EXPECT_EQ(session.training.rng().state(), 2U);
}
TEST(TrainingFilesThatDoNotFit, TextsThatAreMissingOrNoNumbers) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  const Metadata good{{"training.optimizer", "adam"}, {"training.step", "1"}, {"training.random", "2"}};
  for (const auto& [key, ignored] : good) {
    Metadata state = good;
    state.erase(key);
    EXPECT_TRUE(contains(refusalOf(fileWith(scratch, session.optimizer.state(), state)), "has no '" + key));
    if (key == "training.optimizer") continue;
    for (const char* text : {"", "-1", "1x", " 1", "1.5", "18446744073709551616"}) {
      state[key] = text;
      EXPECT_TRUE(contains(refusalOf(fileWith(scratch, session.optimizer.state(), state)),
                           std::string("has '") + text + "' for its '" + key))
          << text;
    }
  }
}
TEST(TrainingFilesThatDoNotFit, EveryPrefixAndFlippedBitLoadsOrChangesNothing) {
  const Scratch scratch;
  ParameterLayout layout;
  layout.add("w", ParameterRole::weight, 3);
  ParameterStore<float> parameters(layout);
  Optimizer<float> optimizer(Momentum{}, 3);
  saveTraining(scratch.path("f"), parameters, optimizer, Rng(0));
  const std::string whole = contentOf(scratch.path("f"));
  for (std::size_t i = 0; i < whole.size() * 9; ++i) {
    std::string changed = whole;
    if (i < whole.size())
      changed.resize(i);
    else
      changed[(i - whole.size()) / 8] = static_cast<char>(changed[(i - whole.size()) / 8] ^ (1 << (i % 8)));
    scratch.put("f", changed);
    std::ranges::fill(parameters.values(), 8.0F);
    std::ranges::fill(optimizer.state(), 9.0F);
    optimizer.setSteps(1000);
    Rng rng(1000);
    const std::string sentence =
        sentenceOf([&] { loadTraining(SafetensorsFile(scratch.path("f")), parameters, optimizer, rng); });
    const bool isOld[] = {parameters.values()[2] == 8.0F, optimizer.state()[0] == 9.0F,
                          optimizer.steps() == 1000, rng.state() == 1000};
    for (const bool is : isOld) ASSERT_EQ(is, !sentence.empty()) << i << ": " << sentence;
    ASSERT_TRUE(i >= whole.size() || !sentence.empty()) << "prefix of " << i;
  }
}

TEST(TrainingFileErrors, AnOptimiserOfAnotherSizeIsNeitherSavedNorLoaded) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  session.save(scratch.path("f"));
  Optimizer<float> small(Adam{}, 3);
  Rng rng(5);
  auto& parameters = session.parameters;
  EXPECT_TRUE(contains(sentenceOf([&] { saveTraining(scratch.path("g"), parameters, small, rng); }),
                       "its optimiser 3; make it of the same size"));
  EXPECT_TRUE(
      contains(sentenceOf([&] { loadTraining(SafetensorsFile(scratch.path("f")), parameters, small, rng); }),
               "its optimiser 3"));
  EXPECT_EQ(rng.state(), 5U);
  EXPECT_EQ(scratch.entries(), std::vector<std::string>{"f"});
}
TEST(TrainingFileErrors, TextsAndTensorsOfTheCallerDoNotReplaceOurs) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  session.save(scratch.path("f"));
  const std::string before = contentOf(scratch.path("f"));
  EXPECT_TRUE(contains(sentenceOf([&] {
                         saveTraining(scratch.path("f"), session.parameters, session.optimizer, Rng(1),
                                      {{"training.step", "12"}});
                       }),
                       "'training.step' is written by saveTraining itself"));
  ParameterLayout layout;
  layout.add("optimizer.memory", ParameterRole::weight, 3);
  const ParameterStore<float> parameters(layout);
  EXPECT_TRUE(contains(
      sentenceOf([&] { saveTraining(scratch.path("f"), parameters, Optimizer<float>(Adam{}, 3), Rng(1)); }),
      "two tensors have the name 'optimizer.memory'"));
  EXPECT_EQ(contentOf(scratch.path("f")), before);
}
TEST(TrainingFilesThatDoNotFit, HaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  Session<float> session("adam", 1);
  const auto code = [&](const std::string& path) { return codeOf([&] { session.load(path); }); };
  EXPECT_EQ(code(scratch.path("missing")), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { session.save(scratch.path("no/folder")); }), ErrorCode::fileAccess);
  EXPECT_EQ(code(fileWith(scratch, session.optimizer.state(), {})), ErrorCode::badFile) << "no training";
  EXPECT_EQ(
      code(fileWith(scratch, session.optimizer.state(),
                    {{"training.optimizer", "adam"}, {"training.step", "x"}, {"training.random", "1"}})),
      ErrorCode::badFile);
  Session<float>("sgd", 1).save(scratch.path("f"));
  EXPECT_EQ(code(scratch.path("f")), ErrorCode::invalidArgument) << "another optimiser";
  Session<float>("adam", 1, 100, 5).save(scratch.path("f"));
  EXPECT_EQ(code(scratch.path("f")), ErrorCode::invalidArgument) << "another shape";
}

}  // namespace training_file_test
}  // namespace burtorch

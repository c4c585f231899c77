// Our side of models_live.py. Prints the loss of the model for its sample (exchange_models.hpp), in fp64.
// usage: models_dump gpt|mlp FILE           of the model in the file
//        models_dump gpt|mlp --write FILE   of a model with random parameters, which it saves in fp32
#include <burtorch/base/rng.hpp>
#include <cstdio>
#include <string>

#include "exchange_models.hpp"

namespace {

using namespace burtorch;

template <template <class> class Model> void dump(bool isWriting, const std::string& path) {
  if (isWriting) {
    const Model<float> model;
    ParameterStore<float> parameters(model.layout());
    Rng rng(3);
    for (float& x : parameters.values()) x = rng.uniform<float>() - 0.5f;
    saveParameters(path, parameters, {{"format", "pt"}});
  }
  std::printf("%.17g\n", exchange::lossOfFile<Model>(path));
}

}  // namespace

int main(int count, char** arguments) {
  const bool isWriting = count == 4 && std::string(arguments[2]) == "--write";
  if (count != 3 && !isWriting) return 2;
  if (std::string(arguments[1]) == "gpt")
    dump<exchange::Gpt>(isWriting, arguments[count - 1]);
  else
    dump<exchange::CharMlp>(isWriting, arguments[count - 1]);
}

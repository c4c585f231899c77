# Our tokens and the tokenizers package of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(bpe_dump data/bpe_dump.cpp)
target_link_libraries(bpe_dump PRIVATE burtorch::compiled burtorch_warnings)
leave_plain(bpe_dump)
live_test(bpe_live COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1" "$2"]]
  ${here}/data/bpe_live.py $<TARGET_FILE:bpe_dump> ${root}/data/scenes.txt)

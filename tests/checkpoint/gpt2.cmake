# Our GPT-2 files and the transformers package of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(gpt2_dump checkpoint/gpt2_dump.cpp)
target_link_libraries(gpt2_dump PRIVATE burtorch::compiled burtorch_warnings)
leave_plain(gpt2_dump)
live_test(gpt2_live COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${here}/checkpoint/gpt2_live.py $<TARGET_FILE:gpt2_dump>)

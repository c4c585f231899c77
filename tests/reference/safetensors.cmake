# Our safetensors files and the Python package of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(safetensors_dump reference/safetensors_dump.cpp)
target_link_libraries(safetensors_dump PRIVATE burtorch::burtorch burtorch_warnings)
add_test(NAME safetensors_live COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${CMAKE_CURRENT_SOURCE_DIR}/reference/safetensors_live.py $<TARGET_FILE:safetensors_dump>)
set_tests_properties(safetensors_live PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300)
# Whole models, from us to PyTorch and back.
add_executable(models_dump reference/models_dump.cpp)
target_link_libraries(models_dump PRIVATE burtorch::burtorch burtorch_warnings)
add_test(NAME models_live COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
  ${CMAKE_CURRENT_SOURCE_DIR}/reference/models_live.py $<TARGET_FILE:models_dump>)
set_tests_properties(models_live PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300)

# Our files and the Python packages of this machine; BURTORCH_PYTHON names the interpreter.
add_executable(safetensors_dump reference/safetensors_dump.cpp)
add_executable(models_dump reference/models_dump.cpp)
# live_test(NAME PROGRAM): reference/NAME.py asks PROGRAM and the package.
function(live_test name program)
  target_link_libraries(${program} PRIVATE burtorch::burtorch burtorch_warnings)
  add_test(NAME ${name} COMMAND sh -c [[exec "${BURTORCH_PYTHON:-python3}" "$0" "$1"]]
    ${CMAKE_CURRENT_SOURCE_DIR}/reference/${name}.py $<TARGET_FILE:${program}>)
  set_tests_properties(${name} PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
live_test(safetensors_live safetensors_dump)
live_test(npy_live safetensors_dump)
live_test(models_live models_dump)

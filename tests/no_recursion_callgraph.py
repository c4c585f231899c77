#!/usr/bin/env python3
"""No function of namespace burtorch can reach itself by calls.

g++ -fcallgraph-info writes who calls whom for everything that tests/no_exceptions.cpp instantiates; at -O0 no call is
inlined away. Calls through pointers are not in the graph; the deep chains, which run with a small stack, look at those.
usage: no_recursion_callgraph.py <source folder> <g++> | --self-test <g++>
"""
import pathlib
import re
import subprocess
import sys
import tempfile

EDGE = re.compile(r'^edge: \{ sourcename: "((?:[^"\\]|\\.)*)" targetname: "((?:[^"\\]|\\.)*)"')
OURS = re.compile(r"8burtorch")  # as it is written in a mangled name


def call_graph(compiler, source, flags):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-std=c++20", "-O0", "-fcallgraph-info", "-c", str(source), "-o", f"{folder}/out.o"]
        subprocess.run(command + flags, check=True)
        text = next(pathlib.Path(folder).glob("*.ci")).read_text()
    graph = {}
    for line in text.splitlines():
        edge = EDGE.match(line)
        if edge:
            # A function with internal linkage is named "file:symbol".
            caller, callee = (name.rsplit(":", 1)[-1] for name in edge.groups())
            graph.setdefault(caller, set()).add(callee)
            graph.setdefault(callee, set())
    return graph


def cycles(graph):
    """The strongly connected components that are cycles: Tarjan's algorithm with a stack of its own."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, callees = work[-1]
            for callee in callees:
                if callee not in index:
                    index[callee] = low[callee] = len(index)
                    stack.append(callee)
                    on_stack.add(callee)
                    work.append((callee, iter(graph[callee])))
                    break
                if callee in on_stack:
                    low[node] = min(low[node], index[callee])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    if len(component) > 1 or node in graph[node]:
                        found.append(component)
    return found


def self_test(compiler):
    source = """namespace burtorch {
    int walk(int n) { return n == 0 ? 0 : walk(n - 1) + 1; }
    int ping(int n); int pong(int n) { return ping(n); } int ping(int n) { return n < 9 ? pong(n + 1) : n; }
    template <class T> int straight(T n) { return walk(n); }
    namespace { int hidden(int n) { return n < 9 ? hidden(n + 1) : n; } }
    int use() { return hidden(1) + straight(2); } }
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "planted.cpp"
        path.write_text(source)
        found = cycles(call_graph(compiler, path, []))
    sizes = sorted(len(component) for component in found)
    if sizes != [1, 1, 2]:
        sys.exit(f"self-test: planted cycles of 1, 1 and 2 functions, found {sizes}")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    graph = call_graph(compiler, root / "tests/no_exceptions.cpp",
                       ["-fno-exceptions", "-fno-rtti", f"-I{root / 'include'}"])
    ours = [name for name in graph if OURS.search(name)]
    if len(ours) < 500:
        sys.exit(f"only {len(ours)} functions of burtorch in the call graph: is it complete?")
    bad = [component for component in cycles(graph) if any(OURS.search(name) for name in component)]
    for component in bad:
        print("recursion:", " -> ".join(component))
    print(f"{len(ours)} functions of burtorch, {len(bad)} cycles")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

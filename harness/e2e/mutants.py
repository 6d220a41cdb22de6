#!/usr/bin/env python3
"""Breaks each condition of the linearizability engine on purpose, one at a time, and runs the
differential tests: each mutant must be noticed. mutants.py ROOT [HISTORIES] [WORD…]: those whose
description has a word. The list is checkers/linearizable/mutants.json; an optional mutant only
makes the search slower, and is not expected to be noticed."""
import json, os, subprocess, sys, tempfile

ROOT = os.path.abspath(sys.argv[1])
HISTORIES = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
WORDS = sys.argv[3:]
ENGINE = os.path.join(ROOT, "checkers/linearizable")
FLAGS = ["-std=c++20", "-O1", "-w", "-DNDEBUG", "-DASSAY_SOURCE_DIR=\"" + ROOT + "\""]
PARTS = ["linearizable/" + name for name in (
    "search", "unique", "mending", "problem", "judge", "order", "key_history", "general_search",
    "general_problem", "general_order", "search_test", "unique_test", "mending_test",
    "general_search_test")]
PARTS += ["model"] + ["models/" + name for name in (
    "kv", "multi_register", "mutex", "register", "registry", "set")]
PARTS += ["history/" + name for name in (
    "history", "op", "symbol", "value", "time", "vocabulary", "json_text")]
# The tests of a file, and how many histories they draw for one of HISTORIES.
REGISTERS = ("Search.*:Unique.*:Mending.*:Pitfalls*", 1)
MODELS = ("GeneralSearch.AgreesWithTryingEveryOrder", 0.1)
GENERAL = ("general_search.cc", "general_problem.cc")


def compile_one(source, obj, *first):
    subprocess.run(["g++", *FLAGS, *first, "-I" + ROOT, "-c", source, "-o", obj], check=True)


def noticed(objects, work, tests):
    program = os.path.join(work, "mutant")
    subprocess.run(["g++", *objects.values(), "-o", program, "-lgmock", "-lgtest", "-lgtest_main",
                    "-lpthread"], check=True)
    pattern, share = tests
    try:
        run = subprocess.run([program, "--gtest_filter=" + pattern, "--gtest_fail_fast"], timeout=600,
                             env={**os.environ, "ASSAY_HISTORIES": str(int(HISTORIES * share))},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "runs without end"
    return "noticed" if run.returncode != 0 else None


def mutate(mutant, objects, work):
    """The objects with the mutant in them, or None where its place is gone."""
    with open(os.path.join(ENGINE, mutant["file"])) as f:
        text = f.read()
    if mutant["from"] not in text:
        return None
    shadow = os.path.join(work, "shadow", "checkers", "linearizable")  # found before the original
    os.makedirs(shadow, exist_ok=True)
    copy = os.path.join(shadow, mutant["file"])
    with open(copy, "w") as f:
        f.write(text.replace(mutant["from"], mutant["to"], 1))
    unit = mutant.get("unit", mutant["file"])
    obj = os.path.join(work, "mutated.o")
    source = copy if unit == mutant["file"] else os.path.join(ENGINE, unit)
    part = "linearizable/" + unit.removesuffix(".cc")
    compile_one(source, obj, "-I" + os.path.join(work, "shadow"))
    os.remove(copy)
    return {**objects, part: obj}


def main():
    with open(os.path.join(ENGINE, "mutants.json")) as f:
        mutants = [m for m in json.load(f) if not WORDS or any(w in m["of"] for w in WORDS)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="assay-mutants-") as work:
        objects = {part: os.path.join(work, part.replace("/", "_") + ".o") for part in PARTS}
        for part, obj in objects.items():
            compile_one(os.path.join(ROOT, "checkers", part + ".cc"), obj)
        for tests in (REGISTERS, MODELS):
            assert noticed(objects, work, tests) is None, "the tests fail without a mutant"
        for mutant in mutants:
            mutated = mutate(mutant, objects, work)
            unit = mutant.get("unit", mutant["file"])
            how = mutated and noticed(mutated, work, MODELS if unit in GENERAL else REGISTERS)
            missing = "GONE    " if not mutated else "slower  " if mutant.get("optional") else "MISSED  "
            print(how or missing, mutant["of"], flush=True)
            missed += how is None and missing != "slower  "
    print(len(mutants), "mutants,", missed, "missed")
    return 1 if missed else 0


sys.exit(main())

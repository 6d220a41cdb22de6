#!/usr/bin/env python3
"""Breaks each condition of the linearizability engine on purpose, one at a time, and runs the
differential tests: each mutant must be noticed. mutants.py ROOT [HISTORIES] [WORD…]: those whose
description has a word. The list is checkers/linearizable/mutants.json; an optional mutant only
makes the search slower, and is not expected to be noticed."""
import json, os, subprocess, sys, tempfile

ROOT = os.path.abspath(sys.argv[1])
HISTORIES = sys.argv[2] if len(sys.argv) > 2 else "200000"
WORDS = sys.argv[3:]
ENGINE = os.path.join(ROOT, "checkers/linearizable")
FLAGS = ["-std=c++20", "-O1", "-w", "-DNDEBUG", "-I" + ROOT, "-DASSAY_SOURCE_DIR=\"" + ROOT + "\""]
PARTS = ["linearizable/search", "linearizable/unique", "linearizable/problem", "linearizable/judge",
         "linearizable/mending", "linearizable/order", "linearizable/key_history",
         "linearizable/search_test", "linearizable/unique_test",
         "linearizable/mending_test"] + ["history/" + name for name in (
             "history", "op", "symbol", "value", "time", "vocabulary", "json_text")]


def compile_one(source, obj):
    subprocess.run(["g++", *FLAGS, "-c", source, "-o", obj], check=True)


def noticed(objects, work):
    program = os.path.join(work, "mutant")
    subprocess.run(["g++", *objects.values(), "-o", program, "-lgmock", "-lgtest", "-lgtest_main",
                    "-lpthread"], check=True)
    try:
        run = subprocess.run([program, "--gtest_filter=Search.*:Unique.*:Mending.*:Pitfalls*",
                              "--gtest_fail_fast"],
                             env={**os.environ, "ASSAY_HISTORIES": HISTORIES}, timeout=600,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "runs without end"
    return "noticed" if run.returncode != 0 else None


def main():
    with open(os.path.join(ENGINE, "mutants.json")) as f:
        mutants = [m for m in json.load(f) if not WORDS or any(w in m["of"] for w in WORDS)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="assay-mutants-") as work:
        objects = {}
        for part in PARTS:
            objects[part] = os.path.join(work, part.replace("/", "_") + ".o")
            compile_one(os.path.join(ROOT, "checkers", part + ".cc"), objects[part])
        assert noticed(objects, work) is None, "the tests fail without a mutant"
        for mutant in mutants:
            with open(os.path.join(ENGINE, mutant["file"])) as f:
                text = f.read()
            if text.count(mutant["from"]) < 1:
                print("GONE    ", mutant["of"], flush=True)
                missed += 1
                continue
            source = os.path.join(work, "mutant.cc")
            with open(source, "w") as f:
                f.write(text.replace(mutant["from"], mutant["to"], 1))
            part = "linearizable/" + mutant["file"].removesuffix(".cc")
            obj = os.path.join(work, "mutated.o")
            compile_one(source, obj)
            how = noticed({**objects, part: obj}, work)
            print(how or ("slower  " if mutant.get("optional") else "MISSED  "), mutant["of"], flush=True)
            missed += how is None and not mutant.get("optional")
    print(len(mutants), "mutants,", missed, "missed")
    return 1 if missed else 0


sys.exit(main())

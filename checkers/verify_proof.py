#!/usr/bin/env python3
"""verify_proof.py HISTORY PROOF

Verifies what `assay check HISTORY --proof PROOF` wrote, trusting nothing but this script: that each key's
order is one that the model can go through from its initial value, respects real time, and holds every
operation that happened once, what may have happened at most once, and what failed not at all (a failed cas
that found another value may stand where it found it). A proof of one key alone (check --key) leaves the others
out, and the script says so. HISTORY: JSON Lines, plain or gzip. Exit code 0: verified; 1: rejected; 2: cannot be read."""
import gzip, json, sys


CALLS = {"register": {"read", "write", "delete"}, "cas-register": {"read", "write", "cas", "delete"},
         "kv": {"get", "put", "append", "delete"}, "set": {"add", "remove", "read"}, "mutex": {"acquire", "release"},
         "multi-register": {"read", "write"}}


def plain(value):  # 1 and 1.0 are one number
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def text(value):  # equal values have equal texts; 1, "1" and true differ
    return json.dumps(plain(value), sort_keys=True)


def need(condition, message):
    if not condition:
        sys.exit("rejected: " + message)


def lines(path):
    with open(path, "rb") as file:
        raw = file.read()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    rows = raw.decode("utf-8-sig").split("\n")
    for number, row in enumerate(rows, 1):
        try:
            if row.strip():
                yield json.loads(row)
        except ValueError:  # the last line may be torn
            need(number == len(rows), f"{path}:{number} is not JSON")


def operations(path):
    ops, under_way, at = {}, {}, -1
    for line in lines(path):
        if line.get("format") == "assay-history":
            continue
        at += 1
        if not isinstance(line["process"], int):
            continue  # the nemesis, the observer
        if line["type"] == "invoke":
            ops[line.get("index", at)] = under_way[line["process"]] = op = {
                "f": line["f"], "asked": line.get("value"), "answer": None, "type": "info", "call": at,
                "ret": float("inf"), "key": line.get("key"), "guarded": line.get("expected") is not None, "error": {}}
            continue
        op = under_way.pop(line["process"])
        op.update(type=line["type"], answer=line.get("value"), error=line.get("error") or {})
        op["key"] = line.get("key") if op["key"] is None else op["key"]
        op["guarded"] |= line.get("expected") is not None
        if line["type"] != "info":
            op["ret"] = at
    for op in ops.values():
        op["key"] = "" if op["key"] is None else op["key"] if isinstance(op["key"], str) else text(op["key"])
    return ops


def steps(op, rules):  # what it did, as (f, key, value) each; nothing: it says nothing
    f, key, known = op["f"], op["key"], op["type"] == "ok"
    if f == "txn":
        raw = op["answer"] if known and op["answer"] is not None else op["asked"]
        done = [({"r": "read", "w": "write"}.get(g, g), k if isinstance(k, str) else text(k), v) for g, k, v in raw]
    else:
        done = [(f, key, op["answer"] if f in ("read", "get") else op["asked"])]
    mute = lambda v: not known or (v is None and rules["null_read"] == "unknown")
    return [(g, k, v) for g, k, v in done if g not in ("read", "get") or not mute(v)]


def apply(state, model, op, step):
    f, key, value = step
    need(f in CALLS[model], f"the model {model} does not have {f}")
    if model == "mutex":
        need((f == "acquire") != state[key], "the lock was not so")
        state[key] = f == "acquire"
    elif model == "set" and f == "read":
        need(sorted(map(text, value or [])) == sorted(state[key]), f"read {value}, and there was {sorted(state[key])}")
    elif model == "set":
        state[key] = state[key] | {text(value)} if f == "add" else state[key] - {text(value)}
    elif f in ("read", "get"):
        need(text(value) == state[key], f"read {value}, and there was {state[key]}")
    elif f == "cas":
        same = text(value[0]) == state[key]
        need(same == (op["type"] != "fail"), f"cas of {value} {op['type']}, and there was {state[key]}")
        state[key] = text(value[1]) if same else state[key]
    elif f == "append":
        old = json.loads(state[key])
        state[key] = text(("" if old is None else old if isinstance(old, str) else state[key]) + value)
    else:
        state[key] = text(None if f == "delete" else value)


def must_be_there(op, rules):
    observes = all(f in ("read", "get") for f, _, _ in steps(op, rules))
    if op["type"] == "fail":  # a cas that compared, and found another value
        compared = op["f"] == "cas" and op["error"].get("class") in (None, "", "conflict", "mismatch")
        return compared and not op["guarded"] and rules["failed_cas"] == "observe"
    return op["type"] == "ok" and steps(op, rules) and not (observes and rules["reads"] != "linearizable")


def start(model, initial):
    if model == "set":
        return frozenset(map(text, initial or []))
    return initial not in (None, False, "free") if model == "mutex" else text(initial)


def main(history, proof):
    ops, (rules, *parts) = operations(history), list(lines(proof)) or [{}]
    need(rules.get("format") == "assay-proof" and rules["version"] == 1, "not a proof of version 1")
    model, placed, keys, all_ops = rules["model"], set(), set(), len(ops)
    if "only_key" in rules:
        ops = {index: op for index, op in ops.items() if op["key"] == rules["only_key"]}
    for part in parts:
        need("order" in part, f"no order for {part['keys']}: {part.get('verdict')}")
        need(keys.isdisjoint(part["keys"]), f"{part['keys']} come twice")
        keys.update(part["keys"])
        state, latest = {k: start(model, v) for k, v in zip(part["keys"], part["initial"])}, -1
        for index in part["order"]:
            need(index in ops and index not in placed, f"operation {index} is not one, or comes twice")
            op = ops[index]
            placed.add(index)
            need(op["type"] != "fail" or op["f"] == "cas", f"operation {index} failed")
            need(op["ret"] > latest, f"operation {index} had returned before another one that precedes it began")
            latest = max(latest, op["call"])
            for step in steps(op, rules):
                need(step[1] in state, f"operation {index} is of another key")
                apply(state, model, op, step)
    missing = [i for i, op in ops.items() if i not in placed and must_be_there(op, rules)]
    need(not missing, f"operations {missing[:9]} are missing")
    initial = {text(v) for part in parts for v in part["initial"]}
    print(f"verified: {len(placed)} operations in {len(parts)} orders; model {model}, initial {' '.join(sorted(initial))}, "
          f"failed_cas {rules['failed_cas']}, null_read {rules['null_read']}, reads {rules['reads']}")
    if "only_key" in rules:
        print(f"left out: {all_ops - len(ops)} operations on other keys than {text(rules['only_key'])}, of which this is no proof")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, EOFError, UnicodeDecodeError, RecursionError, AttributeError, KeyError, TypeError, ValueError) as problem:
        print(f"cannot be read: {type(problem).__name__}: {problem}", file=sys.stderr)
        sys.exit(2)

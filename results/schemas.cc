// The schemas themselves. A change here that makes an older file invalid needs a new version.
#include "results/schema.h"

namespace assay {
namespace {

constexpr std::string_view kSpec = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "spec.json: what to run; in a run folder, the spec as used and how the run was made",
  "type": "object",
  "properties": {
    "format": {"const": "assay-spec"},
    "version": {"const": 1},
    "target": {"type": "string"},
    "workload": {"type": "string"},
    "nemesis": {"$ref": "#/$defs/names"},
    "nodes": {"type": "integer", "minimum": 1},
    "time_limit": {"$ref": "#/$defs/duration"},
    "rate": {"anyOf": [{"type": "number", "minimum": 0}, {"const": "max"}]},
    "concurrency": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]},
    "keys": {"type": "integer", "minimum": 0},
    "ops_per_key": {"type": ["integer", "string"]},
    "op_timeout": {"$ref": "#/$defs/duration"},
    "nemesis_interval": {"$ref": "#/$defs/duration"},
    "fault_duration": {"$ref": "#/$defs/duration"},
    "seed": {"type": "integer"},
    "out": {"type": "string"},
    "deadline": {"$ref": "#/$defs/duration"},
    "set": {"type": "object"},
    "expect": {"anyOf": [{"$ref": "#/$defs/word"}, {"type": "string"},
                         {"type": "object", "additionalProperties": {"$ref": "#/$defs/word"}}]},
    "net": {"enum": ["private", "host"]},
    "hosts": {"type": "string"},
    "base_port": {"type": "integer", "minimum": 1},
    "leave_running": {"type": "boolean"},
    "keep_data": {"type": "boolean"},
    "contract": {"enum": ["strong", "weak"]},
    "swarm": {"type": "boolean"},
    "fail_fast": {"type": "boolean"},
    "bin_dir": {"type": "string"},
    "script": {"type": "array", "items": {"type": "object"}},
    "thresholds": {"type": "object", "additionalProperties": {"type": "number"}},
    "run": {"$ref": "#/$defs/run"}
  },
  "additionalProperties": false,
  "$defs": {
    "duration": {"type": ["string", "number"]},
    "names": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "word": {"enum": ["valid", "invalid", "unknown", "vacuous", "blocked"]},
    "run": {
      "title": "written by Assay into the run folder: how this run was made",
      "type": "object",
      "required": ["assay", "command", "started"],
      "properties": {
        "assay": {"type": "string"},
        "command": {"type": "string"},
        "started": {"type": "string"},
        "nodes": {"type": "array", "items": {"type": "string"}},
        "faults": {"type": "string"},
        "environment": {"type": "string"},
        "not_claimed": {"type": "array", "items": {"type": "string"}},
        "not_tested": {"type": "array", "items": {"type": "string"}},
        "host": {"type": "object"},
        "binaries": {"type": "array", "items": {
          "type": "object",
          "required": ["name", "hash"],
          "properties": {"name": {"type": "string"}, "hash": {"type": "string"}},
          "additionalProperties": false
        }}
      },
      "additionalProperties": false
    }
  }
}
)json";

constexpr std::string_view kVerdict = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "verdict.json: the verdict tree",
  "type": "object",
  "required": ["format", "version"],
  "properties": {"format": {"const": "assay-verdict"}, "version": {"const": 1}},
  "$ref": "#/$defs/node",
  "$defs": {
    "node": {
      "type": "object",
      "required": ["path", "name", "word", "safety", "progress", "reason", "counts", "facts", "children"],
      "properties": {
        "path": {"title": "names from the root's children on, joined by /", "type": "string"},
        "name": {"type": "string"},
        "word": {"enum": ["valid", "invalid", "unknown", "vacuous", "blocked"]},
        "safety": {"enum": ["valid", "vacuous", "unknown", "invalid"]},
        "progress": {"enum": ["not-due", "ok", "unknown", "blocked"]},
        "reason": {"type": "string"},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "facts": {"type": "array", "items": {
          "title": "[name, text]",
          "type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}
        }},
        "witness": {
          "type": "object",
          "required": ["operations", "text"],
          "properties": {
            "operations": {
              "title": "ordinals among the client operations, in order of invocation, from 0",
              "type": "array", "items": {"type": "integer", "minimum": 0}
            },
            "text": {"type": "array", "items": {"type": "string"}},
            "indexes": {
              "title": "per operation: index of its invocation and of its completion (-1: none) in history.jsonl",
              "type": "array", "items": {
                "type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer"}
              }
            },
            "last_order": {
              "title": "an order of the longest beginning that can be explained: its last steps",
              "type": "object",
              "required": ["before", "start", "steps"],
              "properties": {
                "of": {"title": "what it is an order of, where that is not the whole key", "type": "string"},
                "before": {"title": "steps before these", "type": "integer", "minimum": 0},
                "start": {"title": "the state before the first of these", "type": "string"},
                "steps": {"type": "array", "items": {
                  "title": "[operation, the state that it leaves]; operations and breaks: ordinals as above",
                  "type": "array", "minItems": 2, "maxItems": 2
                }},
                "breaks": {
                  "title": "the operation with which no order explains it any more",
                  "type": "integer", "minimum": 0
                }
              },
              "additionalProperties": false
            }
          },
          "additionalProperties": false
        },
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
      }
    }
  }
}
)json";

constexpr std::string_view kProof = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "a line of what `assay check --proof` writes: first the header, then one for each key",
  "anyOf": [
    {
      "title": "the model and the conventions",
      "type": "object",
      "required": ["format", "version", "model", "failed_cas", "null_read", "reads"],
      "properties": {
        "format": {"const": "assay-proof"},
        "version": {"const": 1},
        "model": {"type": "string"},
        "failed_cas": {"enum": ["observe", "ignore"]},
        "null_read": {"enum": ["value", "unknown"]},
        "reads": {"title": "what the target claims of them", "enum": ["linearizable", "sequential", "stale"]},
        "only_key": {"title": "of check --key: nothing else in the history is proven", "type": "string"}
      },
      "additionalProperties": false
    },
    {
      "title": "a key, or several that operations connect",
      "type": "object",
      "required": ["keys", "initial"],
      "properties": {
        "keys": {"title": "empty where the history has none", "type": "array", "items": {"type": "string"}},
        "initial": {"title": "the initial value of each", "type": "array"},
        "order": {
          "title": "indexes of invocations in the history file",
          "type": "array", "items": {"type": "integer", "minimum": 0}
        },
        "verdict": {"title": "where there is no order", "enum": ["invalid", "unknown"]}
      },
      "additionalProperties": false
    }
  ]
}
)json";

constexpr std::string_view kIndex = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "a line of results/runs/index.jsonl: one finished run",
  "type": "object",
  "required": ["format", "version", "folder", "started", "target", "workload", "faults", "seed",
               "verdict", "reason", "operations", "duration_ms"],
  "properties": {
    "format": {"const": "assay-index"},
    "version": {"const": 1},
    "folder": {"title": "beside the index", "type": "string"},
    "started": {"title": "UTC", "type": "string"},
    "target": {"type": "string"},
    "workload": {"type": "string"},
    "faults": {"type": "string"},
    "seed": {"type": "integer"},
    "verdict": {"enum": ["valid", "invalid", "unknown", "vacuous", "blocked", "failed", "interrupted"]},
    "reason": {"type": "string"},
    "operations": {
      "type": "object",
      "required": ["ok", "fail", "info"],
      "properties": {
        "ok": {"type": "integer", "minimum": 0},
        "fail": {"type": "integer", "minimum": 0},
        "info": {"type": "integer", "minimum": 0}
      }
    },
    "duration_ms": {"type": "integer", "minimum": 0}
  }
}
)json";

constexpr std::string_view kHistoryHeader = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "the first line of history.jsonl",
  "type": "object",
  "required": ["format", "version", "time_unit"],
  "properties": {
    "format": {"const": "assay-history"},
    "version": {"const": 1},
    "time_unit": {"const": "ns"},
    "target": {"type": "string"},
    "workload": {"type": "string"},
    "checkers": {"type": "array", "items": {"type": "string"}},
    "model": {"title": "one of `assay list models`", "type": "string"},
    "initial": {},
    "failed_cas": {"enum": ["observe", "ignore"]},
    "null_read": {"enum": ["value", "unknown"]},
    "token": {"enum": ["orderable", "opaque", "none"]},
    "token_kind": {"type": "string"},
    "nodes": {"type": "array", "items": {"type": "string"}},
    "faults": {"type": "array", "items": {"type": "string"}},
    "own_faults": {"type": "array", "items": {"type": "string"}},
    "seed": {"type": "integer"},
    "claims": {"type": "object"},
    "thresholds": {"type": "object", "additionalProperties": {"type": "number"}},
    "timing": {"type": "object", "additionalProperties": {"type": "integer"}},
    "spec": {"type": "object"}
  }
}
)json";

constexpr std::string_view kHistoryLine = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "a further line of history.jsonl: an invocation, a completion, or an observation",
  "type": "object",
  "required": ["process", "type", "f"],
  "properties": {
    "index": {"type": "integer", "minimum": 0},
    "time": {"title": "ns since the run's start", "type": "integer", "minimum": 0},
    "process": {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["nemesis", "observer"]}]},
    "type": {"enum": ["invoke", "ok", "fail", "info"]},
    "f": {"type": "string"},
    "key": {"type": ["string", "integer"]},
    "value": {},
    "node": {"type": "string"},
    "revision": {"$ref": "#/$defs/token"},
    "at": {"$ref": "#/$defs/token"},
    "expected": {"$ref": "#/$defs/token"},
    "scheduled": {"type": "integer"},
    "phase": {"type": "string"},
    "error": {
      "type": "object",
      "properties": {
        "class": {"type": "string"},
        "text": {"type": "string"},
        "current": {"$ref": "#/$defs/token"}
      }
    }
  },
  "$defs": {"token": {"type": ["integer", "string"]}}
}
)json";

constexpr std::string_view kResult = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "what --json prints for one run or check",
  "type": "object",
  "required": ["format", "version", "verdict", "safety", "progress", "reason", "witness", "operations",
               "faults", "read_ms", "check_ms", "run_folder", "seed"],
  "properties": {
    "format": {"const": "assay-result"},
    "version": {"const": 1},
    "verdict": {"enum": ["valid", "invalid", "unknown", "vacuous", "blocked", "failed", "interrupted"]},
    "safety": {"enum": ["valid", "vacuous", "unknown", "invalid"]},
    "progress": {"enum": ["not-due", "ok", "unknown", "blocked"]},
    "reason": {"type": "string"},
    "expected": {"type": "string"},
    "as_expected": {"type": "boolean"},
    "witness": {"anyOf": [{"type": "null"}, {
      "type": "object",
      "required": ["path", "text", "operations"],
      "properties": {
        "path": {"type": "string"},
        "text": {"type": "array", "items": {"type": "string"}},
        "operations": {"type": "array", "items": {
          "type": "object",
          "required": ["index", "process", "f", "type"],
          "properties": {
            "index": {"title": "of the invocation in history.jsonl", "type": "integer"},
            "process": {"type": "integer"},
            "f": {"type": "string"},
            "key": {"type": "string"},
            "type": {"enum": ["ok", "fail", "info"]},
            "node": {"type": "string"},
            "argument": {},
            "result": {},
            "invoked_ns": {"type": "integer"},
            "returned_ns": {"type": "integer"}
          }
        }},
        "last_order": {
          "title": "an order of the longest beginning that can be explained: its last steps",
          "type": "object",
          "required": ["before", "start", "steps"],
          "properties": {
            "of": {"title": "what it is an order of, where that is not the whole key", "type": "string"},
            "before": {"title": "steps before these", "type": "integer", "minimum": 0},
            "start": {"title": "the state before the first of these", "type": "string"},
            "steps": {"type": "array", "items": {
              "type": "object",
              "required": ["index", "state"],
              "properties": {
                "index": {"title": "of the invocation in history.jsonl", "type": "integer"},
                "state": {"title": "that it leaves, in the model's words", "type": "string"}
              }
            }},
            "breaks": {
              "title": "index of the invocation with which no order explains it any more",
              "type": "integer"
            }
          }
        }
      }
    }]},
    "weaker": {
      "title": "of an invalid history: which weaker promises it keeps or breaks, in words",
      "type": "array", "items": {"type": "string"}
    },
    "operations": {
      "type": "object",
      "required": ["ok", "fail", "info"],
      "additionalProperties": {"type": "integer", "minimum": 0}
    },
    "faults": {
      "title": "per kind",
      "type": "object",
      "additionalProperties": {
        "type": "object",
        "required": ["installed", "bit", "healed"],
        "additionalProperties": {"type": "integer", "minimum": 0}
      }
    },
    "read_ms": {"type": ["number", "null"]},
    "check_ms": {"type": ["number", "null"]},
    "run_folder": {"type": ["string", "null"]},
    "seed": {"type": ["integer", "null"]},
    "target": {"type": "string"},
    "workload": {"type": "string"}
  }
}
)json";

constexpr std::string_view kCertificate = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "certificate.json: what a suite of runs says of a store, clause by clause",
  "type": "object",
  "required": ["format", "version", "word", "sentence", "target", "profile", "contract", "seed", "clauses", "cells"],
  "properties": {
    "format": {"const": "assay-certificate"},
    "version": {"const": 1},
    "word": {"$ref": "#/$defs/word"},
    "sentence": {"type": "string"},
    "target": {"type": "string"},
    "profile": {"enum": ["quick", "release", "nightly"]},
    "contract": {"enum": ["strong", "weak"]},
    "assay": {"type": "string"},
    "started": {"type": "string"},
    "host": {"type": "string"},
    "shard": {"type": "string"},
    "honest": {"type": "string"},
    "seed": {"type": "integer"},
    "settings": {"type": "object", "additionalProperties": {"type": "string"}},
    "binaries": {"type": "array", "items": {
      "type": "object", "required": ["name", "hash"],
      "properties": {"name": {"type": "string"}, "hash": {"type": "string"}},
      "additionalProperties": false
    }},
    "exclusions": {"$ref": "#/$defs/texts"},
    "not_exercised": {"$ref": "#/$defs/texts"},
    "clauses": {"type": "array", "items": {
      "type": "object", "required": ["id", "title", "passage", "word", "cells", "operations"],
      "properties": {"id": {"type": "string"}, "word": {"anyOf": [{"$ref": "#/$defs/word"}, {"const": "not claimed"}]},
                     "checks": {"$ref": "#/$defs/texts"}}
    }},
    "cells": {"type": "array", "items": {
      "type": "object", "required": ["id", "key", "target", "workload", "faults", "word", "run_folder", "history_hash"],
      "properties": {"id": {"type": "string"},
                     "word": {"anyOf": [{"$ref": "#/$defs/word"}, {"enum": ["failed", "not played"]}]}}
    }}
  },
  "additionalProperties": false,
  "$defs": {
    "word": {"enum": ["valid", "invalid", "unknown", "vacuous", "blocked"]},
    "texts": {"type": "array", "items": {"type": "string"}}
  }
}
)json";

constexpr std::string_view kCertificateCell = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "a line of cells.jsonl: one run of a certificate that has ended",
  "type": "object",
  "required": ["id", "key", "word"],
  "properties": {
    "id": {"type": "string"},
    "key": {"type": "string"},
    "target": {"type": "string"},
    "workload": {"type": "string"},
    "faults": {"type": "string"},
    "canary_of": {"type": "string"},
    "token_kind": {"type": "string"},
    "word": {"enum": ["valid", "invalid", "unknown", "vacuous", "blocked", "failed", "not played"]},
    "reason": {"type": "string"},
    "witness": {"type": "string"},
    "run_folder": {"type": "string"},
    "history_hash": {"type": "string"},
    "rerun": {"type": "string"},
    "seed": {"type": "integer"},
    "operations": {"type": "object", "additionalProperties": {"type": "integer"}},
    "bit": {"type": "object", "additionalProperties": {"type": "integer"}},
    "healed": {"type": "object", "additionalProperties": {"type": "integer"}},
    "clauses": {"type": "object", "additionalProperties": {
      "type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3
    }}
  },
  "additionalProperties": false
}
)json";

constexpr std::string_view kRequest = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "certify.json: what a certificate was asked for; `assay certify --resume` and `assay merge` read it",
  "type": "object",
  "required": ["format", "version", "target", "profile", "contract", "seed", "shard", "shards"],
  "properties": {
    "format": {"const": "assay-certify"},
    "version": {"const": 1},
    "target": {"type": "string"},
    "settings": {"type": "object", "additionalProperties": {"type": "string"}},
    "profile": {"enum": ["quick", "release", "nightly"]},
    "contract": {"enum": ["strong", "weak"]},
    "nodes": {"type": "integer", "minimum": 1},
    "net": {"type": "string"},
    "hosts": {"type": "string"},
    "seed": {"type": "integer", "minimum": 0},
    "shard": {"type": "integer", "minimum": 1},
    "shards": {"type": "integer", "minimum": 1},
    "time_limit": {"type": "integer", "minimum": 0, "title": "ns; of nightly"}
  },
  "additionalProperties": false
}
)json";

}  // namespace

const std::vector<Schema>& all_schemas() {
  static const std::vector<Schema> schemas = {
      {"spec", "spec.json: what to run, and how a run was made", kSpec},
      {"verdict", "verdict.json: the verdict tree", kVerdict},
      {"proof", "a line of what `assay check --proof` writes", kProof},
      {"index", "a line of index.jsonl: one finished run", kIndex},
      {"history-header", "the first line of history.jsonl", kHistoryHeader},
      {"history-line", "a further line of history.jsonl", kHistoryLine},
      {"certificate", "certificate.json: what `assay certify` found, clause by clause", kCertificate},
      {"certificate-cell", "a line of cells.jsonl: one run of a certificate", kCertificateCell},
      {"certify", "certify.json: what a certificate was asked for", kRequest},
      {"result", "what --json prints for one run or check", kResult},
  };
  return schemas;
}

}  // namespace assay

#include "targets/exec/description.h"

namespace assay::exec {

std::string_view description_schema() {
  return R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "the description of a store: how to run it on nodes, and what it claims",
  "type": "object",
  "properties": {
    "format": {"const": "assay-target"},
    "version": {"const": 1},
    "name": {"type": "string"},
    "summary": {"type": "string"},
    "start": {"$ref": "#/$defs/command"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
    "install": {"$ref": "#/$defs/command"},
    "wipe": {"$ref": "#/$defs/command"},
    "stop": {"$ref": "#/$defs/command"},
    "ready": {
      "type": "object",
      "properties": {
        "tcp": {"type": "boolean"},
        "command": {"$ref": "#/$defs/command"},
        "within": {"$ref": "#/$defs/duration"}
      },
      "additionalProperties": false
    },
    "logs": {"type": "array", "items": {"type": "string"}},
    "binaries": {"type": "array", "items": {"type": "string"}},
    "findings": {"type": "object", "additionalProperties": {"type": "string"}},
    "client": {"$ref": "#/$defs/command"},
    "status": {"anyOf": [{"const": "client"}, {"$ref": "#/$defs/command"}]},
    "diagnose": {"$ref": "#/$defs/command"},
    "ops": {
      "type": "array", "minItems": 1,
      "items": {"enum": ["read", "write", "cas", "delete", "add", "append", "txn", "watch"]}
    },
    "errors": {
      "type": "object",
      "additionalProperties": {
        "type": "object",
        "required": ["definite"],
        "properties": {"definite": {"type": "boolean"}, "class": {"type": "string"}},
        "additionalProperties": false
      }
    },
    "claims": {
      "type": "object",
      "required": ["read"],
      "properties": {
        "read": {"enum": ["linearizable", "sequential", "stale"]},
        "guarded_write": {"type": "boolean"},
        "orderable": {"type": "boolean"},
        "watch": {"type": "boolean"},
        "durable": {"enum": ["sync", "process", "none"]},
        "clock": {"description": "how its daemon's clock can be skewed: a program that asks the C library for the time heeds libfaketime (Go's do not)", "enum": ["libfaketime", "none"]},
        "election_timeout_min": {"$ref": "#/$defs/duration"}
      },
      "additionalProperties": false
    },
    "options": {
      "type": "object",
      "additionalProperties": {
        "type": "object",
        "required": ["default"],
        "properties": {
          "default": {"type": "string"},
          "summary": {"type": "string"},
          "canary": {"type": "boolean"}
        },
        "additionalProperties": false
      }
    },
    "faults": {
      "type": "object",
      "additionalProperties": {
        "type": "object",
        "required": ["begin", "verify"],
        "properties": {
          "summary": {"type": "string"},
          "begin": {"$ref": "#/$defs/command"},
          "end": {"$ref": "#/$defs/command"},
          "verify": {"$ref": "#/$defs/command"},
          "within": {"$ref": "#/$defs/duration"}
        },
        "additionalProperties": false
      }
    }
  },
  "additionalProperties": false,
  "required": ["name", "start", "client", "claims"],
  "$defs": {
    "command": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "duration": {"type": "string"}
  }
})json";
}

}  // namespace assay::exec

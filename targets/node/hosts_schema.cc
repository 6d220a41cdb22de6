#include "targets/node/hosts.h"

namespace assay {

std::string_view hosts_schema() {
  return R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "the machines of a run (--hosts), and the way to each",
  "type": "object",
  "required": ["hosts"],
  "properties": {
    "format": {"const": "assay-hosts"},
    "version": {"const": 1},
    "defaults": {
      "type": "object",
      "properties": {
        "port": {"$ref": "#/$defs/port"},
        "user": {"type": "string"},
        "key": {"$ref": "#/$defs/names"},
        "known_hosts": {"type": "string"},
        "ssh_config": {"type": "string"},
        "sudo": {"type": "boolean"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "cache": {"type": "string"}
      },
      "additionalProperties": false
    },
    "hosts": {
      "type": "array",
      "minItems": 1,
      "items": {
        "anyOf": [
          {"type": "string"},
          {
            "type": "object",
            "properties": {
              "name": {"type": "string"},
              "address": {"type": "string"},
              "ssh": {"type": "string"},
              "ssh_address": {"type": "string"},
              "via": {"type": "array", "items": {"type": "string"}, "minItems": 1},
              "port": {"$ref": "#/$defs/port"},
              "user": {"type": "string"},
              "key": {"$ref": "#/$defs/names"},
              "known_hosts": {"type": "string"},
              "ssh_config": {"type": "string"},
              "sudo": {"type": "boolean"},
              "env": {"type": "object", "additionalProperties": {"type": "string"}},
              "cache": {"type": "string"}
            },
            "additionalProperties": false
          }
        ]
      }
    }
  },
  "additionalProperties": false,
  "$defs": {
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "names": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
  }
}
)json";
}

}  // namespace assay

// Placeholders: names in braces in the commands and paths of a description, replaced per node.
//
//   {node} {index}              the node's name (n1) and number (from 1)
//   {address} {client_port} {peer_port}
//   {folder}                    its own folder on the node; it exists
//   {bin}                       the folder of the description file
//   {nodes}                     how many nodes there are
//   {option:NAME}               an option of the description, as --set or its default has it
//   {peers:FORMAT}              FORMAT once for every node, itself among them, joined by commas;
//   {others:FORMAT}             for every node but itself. In FORMAT the names of the first two
//                               lines and {folder} are the peer's; its address and peer port are
//                               those at which this very node reaches it.
//   {peers|SEPARATOR:FORMAT}    joined by another text, which holds no colon and no brace
//   {{ }}                       a brace (within a FORMAT only the opening one)
//
//   "--cluster={peers:{node}=http://{address}:{peer_port}}"
#pragma once

#include <string>
#include <string_view>

#include "targets/target.h"

namespace assay::exec {

struct Surroundings {
  const Layout& layout;
  const NodeInfo& node;
  const std::string& bin;
  const TargetInfo::Settings& options;
};

// The text with its placeholders replaced. The error says what was expected and found, without a
// place: which of the texts is wrong does not depend on the nodes.
Result<std::string> fill(std::string_view text, const Surroundings& surroundings);

}  // namespace assay::exec

// Cutting links between nodes or making them slow, and proving that it bites.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "targets/loop.h"
#include "targets/node/node.h"

namespace assay {

// Packets from one node to another are lost at the latter. Indexes into a list of nodes.
struct DirectedLink {
  int from = 0;
  int to = 0;
  friend auto operator<=>(const DirectedLink&, const DirectedLink&) = default;
};

struct LinkCutReport {
  bool installed = false;            // every rule was seen in place
  bool bit = false;                  // and every one of them dropped, or held, a packet
  std::vector<DirectedLink> silent;  // links whose rule did nothing within the patience
  std::string evidence;              // for people: "n1 dropped 3 from n2, 1 from n3" (packets)
};

// From now on exactly these links are cut: on nodes that no link leads to, everything heals. The
// agent of each link's source sends datagrams to its target until the rule there has dropped one,
// so a link proves itself whether its servers talk or not. An error where an agent could not
// install or heal. The nodes must outlive the call; their agents may be lost meanwhile.
void cut_links(Loop& loop, const std::vector<Node*>& nodes, const std::vector<DirectedLink>& links,
               Nanos patience, Node::Done<LinkCutReport> done);

// The same for links that are slow: proven by a packet of each that was held, as its queue measured
// it, at least as long as it says; the patience is on top of that.
void delay_links(Loop& loop, const std::vector<Node*>& nodes,
                 const std::map<DirectedLink, LinkDelay>& links, Nanos patience,
                 Node::Done<LinkCutReport> done);

// The same for another fault of links (link_fault.h). Proven as a cut is; of "disconnect" it is
// enough that a connection of one of the links was destroyed: one may carry what two links do, and
// nodes that have nothing to say to each other have none.
void break_links(Loop& loop, const std::vector<Node*>& nodes, const LinkFault& fault,
                 const std::vector<DirectedLink>& links, Nanos patience,
                 Node::Done<LinkCutReport> done);

}  // namespace assay

#include "targets/third_party/etcd_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

Result<std::unique_ptr<Target>> made_with(const std::string& endpoints,
                                          const std::string& serializable = "false") {
  return etcd_endpoints_target().make(
      {{"endpoints", endpoints}, {"serializable-reads", serializable}}, 1);
}

TEST(EtcdEndpoints, ItsNodesAreTheAddresses) {
  const auto target = made_with("10.0.0.1:2379,[fd00::2]:12379");
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_FALSE((*target)->has_daemons());
  const auto nodes = (*target)->running_nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "n1");
  EXPECT_EQ(nodes[0].address, "10.0.0.1");
  EXPECT_EQ(nodes[0].client_port, 2379);
  EXPECT_EQ(nodes[1].index, 1);
  EXPECT_EQ(nodes[1].address, "fd00::2");
  EXPECT_EQ(nodes[1].client_port, 12379);
}

TEST(EtcdEndpoints, AddressesThatMakeNoSenseAreTheUsersFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "1 to 64 addresses"},
      {"etcd.example.org:2379", "numeric addresses"},
      {"localhost:2379", "numeric addresses"},
      {"http://10.0.0.1:2379", "numeric addresses"},
      {"10.0.0.1", "numeric addresses"},
      {"10.0.0.1:", "numeric addresses"},
      {"10.0.0.1:0", "numeric addresses"},
      {"10.0.0.1:65536", "numeric addresses"},
      {"fd00::2:2379", "numeric addresses"},
      {"10.0.0.1:2379,,10.0.0.2:2379", "numeric addresses"},
      {"10.0.0.1:2379,10.0.0.1:2379", "each address once"},
  };
  for (const auto& [endpoints, what] : cases) {
    const auto target = made_with(endpoints);
    ASSERT_FALSE(target.ok()) << endpoints;
    EXPECT_EQ(target.error().fault, Fault::kInput);
    EXPECT_THAT(target.error().message, HasSubstr("etcd-endpoints.endpoints: expected"));
    EXPECT_THAT(target.error().message, HasSubstr(what));
  }
  EXPECT_FALSE(made_with("10.0.0.1:2379", "yes").ok());
}

}  // namespace
}  // namespace assay

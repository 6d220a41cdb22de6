#include "targets/third_party/etcd_members.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace assay {
namespace {

// Recorded from etcd 3.4.23.
std::string recorded(const std::string& name) {
  std::ifstream file(ASSAY_SOURCE_DIR "/targets/third_party/testdata/" + name + ".json");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string of_member(std::string status, const std::string& id) {
  const std::string ours = "10807589724121574698";
  return status.replace(status.find(ours), ours.size(), id);
}
constexpr const char* kLeaderId = "17644987520913881753";  // f4df96a9c245ba99

std::string said(EtcdMembers& members, const std::string& node, const std::string& status,
                 const std::string& vars) {
  auto value = members.status_of(node, {status, vars});
  return value ? value->to_json() : value.error().message;
}

TEST(EtcdMembers, AFollowerNamesItsLeaderOnceThatHasSpoken) {
  EtcdMembers members;
  const std::string status = recorded("status");
  EXPECT_EQ(said(members, "n1", status, recorded("vars_follower")),
            R"({"role":"follower","term":9,"commit":16,"applied":16})");
  EXPECT_EQ(said(members, "n3", of_member(status, kLeaderId), recorded("vars_leader")),
            R"({"role":"leader","term":9,"leader":"n3","commit":16,"applied":16})");
  EXPECT_EQ(said(members, "n1", status, recorded("vars_follower")),
            R"({"role":"follower","term":9,"leader":"n3","commit":16,"applied":16})");
}

TEST(EtcdMembers, TermRoleAndLeaderAreOfOneMomentNotOfTheMaintenanceApi) {
  EtcdMembers members;
  said(members, "n3", of_member(recorded("status"), kLeaderId), recorded("vars_leader"));
  // Its maintenance API still speaks of the leader of term 9.
  EXPECT_EQ(said(members, "n1", recorded("status"), recorded("vars_candidate")),
            R"({"role":"candidate","term":11,"commit":16,"applied":16})");
}

TEST(EtcdMembers, WithoutALookAtRaftThereIsNoTerm) {
  EtcdMembers members;
  EXPECT_EQ(said(members, "n3", of_member(recorded("status"), kLeaderId), ""),
            R"({"role":"leader","leader":"n3","applied":16})");
  EXPECT_EQ(said(members, "n1", recorded("status"), "404 page not found"),
            R"({"role":"follower","leader":"n3","applied":16})");
  EXPECT_EQ(said(members, "n1", recorded("status_no_leader"), ""),
            R"({"role":"follower","applied":16})");
}

TEST(EtcdMembers, AnAnswerThatMakesNoSenseIsNone) {
  EtcdMembers members;
  for (const char* status : {"", "[]", "{}", R"({"header":{}})", R"({"header":{"member_id":"x"}})"})
    EXPECT_FALSE(members.status_of("n1", {status, ""}).ok()) << status;
}

TEST(EtcdMembers, OneMemberBehindTwoAddressesIsNotTwo) {
  EtcdMembers members;
  EXPECT_TRUE(members.status_of("n1", {recorded("status"), ""}).ok());
  const auto twice = members.status_of("n2", {recorded("status"), ""});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message, "the same member as n1");
}

TEST(EtcdMembers, ALeaderThatIsNoNodeIsNamedByItsIdOnceAllNodesAreKnown) {
  EtcdMembers members({.applied = false, .strangers = 2});
  const std::string vars = recorded("vars_follower");
  EXPECT_EQ(said(members, "n1", recorded("status"), vars),
            R"({"role":"follower","term":9,"commit":16})");
  said(members, "n2", of_member(recorded("status"), "5"), vars);
  EXPECT_EQ(said(members, "n1", recorded("status"), vars),
            R"({"role":"follower","term":9,"leader":"f4df96a9c245ba99","commit":16})");
}

TEST(EtcdMembers, AHashCountsOnlyWhereNothingWasCommittedMeanwhile) {
  const std::string status = recorded("status");
  const std::string hash = recorded("hash");
  std::string vars = recorded("vars_follower");
  EXPECT_EQ(etcd_hash_of(status, hash, vars).to_json(), R"({"from":16,"hashes":["54c1c6d8"]})");
  EXPECT_TRUE(etcd_hash_of(status, hash, "").is_null());
  EXPECT_TRUE(etcd_hash_of(status, "not found", vars).is_null());
  vars.replace(vars.find("\"commit\":16"), 11, "\"commit\":17");
  EXPECT_TRUE(etcd_hash_of(status, hash, vars).is_null());
}

TEST(EtcdMembers, ContentsDifferWhereOneFieldOfOneKeyDoes) {
  const std::string range =
      R"({"header":{"member_id":"1","revision":"7","raft_term":"9"},"kvs":[)"
      R"({"key":"YQ==","create_revision":"2","mod_revision":"7","version":"6","value":"YQ=="}],)"
      R"("count":"1"})";
  const Value contents = etcd_contents_of(range);
  EXPECT_EQ(contents.int_or("from", 0), 7);
  std::string of_another = range;
  of_another.replace(of_another.find("\"1\""), 3, "\"2\"");
  EXPECT_EQ(etcd_contents_of(of_another), contents);
  for (const char* field : {"create_revision\":\"2", "version\":\"6", "value\":\"YQ"}) {
    std::string other = range;
    other[other.find(field) + std::string(field).size() - 1] = 'Z';
    EXPECT_NE(etcd_contents_of(other)["hashes"].to_json(), contents["hashes"].to_json()) << field;
  }
  for (const char* none : {"", "[]", "{}", R"({"header":{"revision":"x"}})"})
    EXPECT_TRUE(etcd_contents_of(none).is_null()) << none;
}

}  // namespace
}  // namespace assay

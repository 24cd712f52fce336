// Wrong implementations of keyed links. The relay is outside of the records, so it can repair what
// is not encrypted, and drop.
#include <map>
#include <memory>

#include "base/endian.h"
#include "fabric_emul/session/messages.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

namespace session = fabric::session;
using session::MessageType;

Fault of(const std::string& name, const std::string& what, const std::string& noticed_by,
         To direction, const std::function<bool(RelayBytes&)>& change) {
  return {name, what, noticed_by, true, [=] {
            return [=](To to, RelayBytes& datagram) {
              return to != direction || datagram.size() < 16 || change(datagram);
            };
          }};
}
bool is(const RelayBytes& datagram, MessageType type) {
  return datagram[0] == static_cast<std::byte>(type);
}

}  // namespace

std::vector<Fault> key_faults() {
  std::vector<Fault> all;
  all.push_back(of("no_response", "INITIATION gets no RESPONSE", "key.handshake", To::kSuite,
                   [](RelayBytes& d) { return !is(d, MessageType::kResponse); }));
  all.push_back(of("response_index", "RESPONSE names another index", "key.handshake", To::kSuite,
                   [](RelayBytes& d) {
                     if (is(d, MessageType::kResponse)) d[8] ^= std::byte{1};
                     return true;
                   }));
  all.push_back(
      {"late_refused", "a record that arrives late is dropped", "key.earlier_counter", true, [] {
         auto highest = std::make_shared<std::map<std::uint32_t, std::uint64_t>>();
         return [highest](To to, RelayBytes& d) {
           if (to != To::kTarget || d.size() < 32 || !is(d, MessageType::kData)) {
             return true;
           }
           auto& top = (*highest)[base::load_be<std::uint32_t>(&d[4])];
           const auto counter = base::load_be<std::uint64_t>(&d[8]);
           const bool is_late = counter < top;
           top = std::max(top, counter);
           return !is_late;
         };
       }});
  all.push_back(
      {"gap_refused", "a gap of the counters ends the session", "key.gap_of_counters", true, [] {
         auto next = std::make_shared<std::map<std::uint32_t, std::uint64_t>>();
         return [next](To to, RelayBytes& d) {
           if (to != To::kTarget || d.size() < 32 || !is(d, MessageType::kData)) {
             return true;
           }
           auto& expected = (*next)[base::load_be<std::uint32_t>(&d[4])];
           const auto counter = base::load_be<std::uint64_t>(&d[8]);
           if (counter > expected) return false;
           expected = std::max(expected, counter + 1);
           return true;
         };
       }});
  all.push_back({.name = "host_initiates_once",
                 .what = "the host never makes new keys",
                 .noticed_by = "key.bye_ends_keys",
                 .is_keyed = true,
                 .make =
                     [] {
                       return [has_keys = false](To to, const RelayBytes& d) mutable {
                         if (to != To::kSuite) return true;
                         has_keys |= is(d, MessageType::kData);
                         return !has_keys || !is(d, MessageType::kInitiation);
                       };
                     },
                 .role = Role::kUnit});
  all.push_back({"previous_refused", "the keys of before open nothing any more",
                 "key.previous_keys", true, [] {
                   auto newest = std::make_shared<std::uint32_t>(0);
                   auto seen = std::make_shared<std::map<std::uint32_t, bool>>();
                   return [newest, seen](To to, RelayBytes& d) {
                     if (to != To::kTarget || d.size() < 32 || !is(d, MessageType::kData)) {
                       return true;
                     }
                     const auto index = base::load_be<std::uint32_t>(&d[4]);
                     if (seen->emplace(index, true).second) *newest = index;
                     return index == *newest;
                   };
                 }});
  return all;
}

}  // namespace splitnic::conformance

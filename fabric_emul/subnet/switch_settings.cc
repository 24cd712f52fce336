#include "fabric_emul/subnet/switch_settings.h"

#include <utility>

#include "base/crc32c.h"
#include "fabric_emul/wire/smp_lids.h"
#include "fabric_emul/wire/smp_policy.h"

namespace splitnic::fabric {

SwitchSettings::SwitchSettings(const Topology& file) : lids_(lids_of(file)) {
  // Without nodes there is nothing to set.
  if (file.lids_from == GivenBy::kManager && lids_.nodes() != 0)
    attributes_.push_back(SmpAttribute::kLids);
  if (file.policy_from == GivenBy::kManager) attributes_.push_back(SmpAttribute::kPolicy);
  set_policy(file);
}

void SwitchSettings::set_policy(const Topology& file) {
  if (file.policy_from != GivenBy::kManager) return;
  for (const auto& [name, policy] : policies_of(file)) {
    std::vector<std::byte> bytes = emit_policy(policy);
    const std::uint32_t check = base::crc32c(bytes);
    policies_[name] = {std::move(bytes), check};
  }
}

std::size_t SwitchSettings::write_get(SmpAttribute attribute, base::MutableBytes out) {
  return attribute == SmpAttribute::kLids ? emit_smp_lids(out, {}) : emit_smp_policy(out, {});
}

std::size_t SwitchSettings::write_part(SmpAttribute attribute, const std::string& of_switch,
                                       std::size_t number, base::MutableBytes out) const {
  if (attribute == SmpAttribute::kLids) return emit_smp_lids(out, lids_.part(number));
  const Policy& policy = policies_.at(of_switch);
  return emit_smp_policy(out, policy_part(policy.bytes, policy.check, number));
}

std::size_t SwitchSettings::parts(SmpAttribute attribute, const std::string& of_switch) const {
  if (attribute == SmpAttribute::kLids) return lids_.count();
  return policy_parts(policies_.at(of_switch).bytes.size());
}

std::optional<bool> SwitchSettings::is_in_force(SmpAttribute attribute,
                                                const std::string& of_switch,
                                                base::Bytes reply) const {
  if (attribute == SmpAttribute::kLids) {
    SmpLids lids;
    if (parse_smp_lids(reply, lids) != SmpError::kNone) return std::nullopt;
    return lids.count == lids_.nodes() && lids.check == lids_.check();
  }
  SmpPolicy policy;
  if (parse_smp_policy(reply, policy) != SmpError::kNone) return std::nullopt;
  const Policy& expected = policies_.at(of_switch);
  return policy.count == expected.bytes.size() && policy.check == expected.check;
}

}  // namespace splitnic::fabric

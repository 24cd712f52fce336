#include "fabric_emul/subnet/load_reader.h"

#include "fabric_emul/wire/smp_load.h"

namespace splitnic::fabric {

void LoadReader::read(const Routes& routes, base::Time begun_at, base::Time now) {
  next_at_ = begun_at + kReadEvery;
  loads_.begin_round();
  requests_.clear();
  names_.clear();
  for (const auto& [name, route] : routes) {
    names_.push_back(name);
    requests_.start(requests_.add(route), SmpMethod::kGet, SmpAttribute::kLoad, {}, now);
  }
}

void LoadReader::stop() {
  next_at_ = {};
  loads_.clear();
  requests_.clear();
  names_.clear();
}

void LoadReader::step(base::Time now) {
  while (const auto reply = requests_.next_reply()) {
    SmpLoad load;
    const bool has_load = reply->smp.status == SmpStatus::kDone &&
                          parse_smp_load(reply->smp.body, load) == SmpError::kNone;
    if (has_load) loads_.on_report(names_.at(reply->from), load, now);
  }
  while (requests_.repeat(now).has_value()) {  // one that is silent has no load
  }
}

}  // namespace splitnic::fabric

#include "iou_module/queue_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace splitnic::iou {

class QueueSet::Member final : public Siblings {
 public:
  Member(const std::vector<std::unique_ptr<Member>>& all, std::size_t queue, std::size_t queues)
      : all_(all), queue_(queue), outboxes_(queues), from_(queues) {
    for (std::size_t i = 0; i < queues; ++i) {
      if (i != queue) from_[i] = std::make_unique<HandOffRing>();
    }
  }

  void set_post(Post post) { post_ = std::move(post); }

  // Newer news of a host replace older ones that are not sent yet.
  void notify(const HostNews& news) override {
    for (Outbox& outbox : outboxes_) {
      std::erase_if(outbox.news, [&](const HostNews& older) {
        return older.node == news.node && older.nic == news.nic;
      });
      outbox.news.push_back(news);
    }
  }
  void notify_refused(const HostId& principal) override {
    for (Outbox& outbox : outboxes_) outbox.refused.push_back(principal);
  }

  void notify_address(std::size_t nic, const lan::MacAddress& mac) override {
    for (Outbox& outbox : outboxes_) {
      if (outbox.addresses.size() < kAddressesMax) outbox.addresses.push_back({nic, mac});
    }
  }

  void notify_group(const GroupNews& news) override {
    for (Outbox& outbox : outboxes_) {
      if (outbox.groups.size() < kGroupsMax) outbox.groups.push_back(news);
    }
  }

  bool hand(std::size_t queue, std::size_t nic, const HostId& node, base::Bytes frame) override {
    CHECK(queue != queue_);
    const HandOffRing::Pushed pushed = all_[queue]->from_[queue_]->push(nic, node, frame);
    outboxes_[queue].is_wake_due |= pushed == HandOffRing::Pushed::kFirst;
    return pushed != HandOffRing::Pushed::kNo;
  }

  std::size_t take_handed(const Handed& take) override {
    std::size_t count = 0;
    for (const auto& ring : from_) {
      if (ring != nullptr) count += ring->take(take);
    }
    return count;
  }

  bool has_handed() const override {
    return std::ranges::any_of(
        from_, [](const auto& ring) { return ring != nullptr && !ring->is_empty(); });
  }

  bool wake() override {
    bool is_done = true;
    for (std::size_t i = 0; i < outboxes_.size(); ++i) {
      Outbox& outbox = outboxes_[i];
      if (i == queue_ || !outbox.has_mail() || post(i, outbox)) {
        outbox = {};
      } else {
        is_done = false;
      }
    }
    return is_done;
  }

 private:
  static constexpr std::size_t kAddressesMax = 64;
  static constexpr std::size_t kGroupsMax = 64;
  struct Address {
    std::size_t nic;
    lan::MacAddress mac;
  };
  struct Outbox {
    std::vector<HostNews> news;
    std::vector<HostId> refused;
    std::vector<Address> addresses;
    std::vector<GroupNews> groups;
    bool is_wake_due = false;
    bool has_mail() const {
      return is_wake_due || !news.empty() || !refused.empty() || !addresses.empty() ||
             !groups.empty();
    }
  };

  bool post(std::size_t queue, const Outbox& mail) const {
    return all_[queue]->post_([from = queue_, mail](Iou& unit, base::Time now) {
      for (const HostNews& news : mail.news) unit.on_news(from, news);
      for (const HostId& principal : mail.refused) unit.on_refused_access(principal, now);
      for (const GroupNews& news : mail.groups) unit.on_group(news, now);
      for (const Address& at : mail.addresses) unit.on_lan_address(at.nic, at.mac, now);
    });
  }

  const std::vector<std::unique_ptr<Member>>& all_;
  const std::size_t queue_;
  Post post_;
  std::vector<Outbox> outboxes_;                    // for each queue
  std::vector<std::unique_ptr<HandOffRing>> from_;  // from each other queue
};

QueueSet::QueueSet(std::size_t queues) {
  members_.reserve(queues);
  for (std::size_t i = 0; i < queues; ++i) {
    members_.push_back(std::make_unique<Member>(members_, i, queues));
  }
}

QueueSet::~QueueSet() = default;

void QueueSet::connect(std::size_t queue, Post post) { members_[queue]->set_post(std::move(post)); }

Siblings* QueueSet::of(std::size_t queue) {
  return members_.size() > 1 ? members_[queue].get() : nullptr;
}

}  // namespace splitnic::iou

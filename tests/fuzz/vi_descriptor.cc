#include "fabric_emul/via/vi_descriptor.h"

#include <array>

#include "base/check.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {

// An accepted descriptor that is emitted and parsed again is the same.
void vi_descriptor(base::Bytes in) {
  using namespace fabric;
  if (in.size() < 1 + kViControlBytes) return;
  const ViQueue queue = (in[0] & std::byte{1}) == std::byte{0} ? ViQueue::kSend : ViQueue::kReceive;
  const base::Bytes bytes = in.subspan(1);
  const std::size_t declared = vi_descriptor_bytes(bytes);
  CHECK(declared >= kViControlBytes);
  ViDescriptor d;
  const std::uint32_t status = parse_vi_descriptor(bytes, queue, d);
  CHECK(status == kViNoError || status == kViFormatError || status == kViLengthError);
  if (status != kViNoError) return;
  CHECK(declared == bytes.size() && declared <= kViDescriptorBytesMax);
  CHECK(queue == ViQueue::kReceive || d.length == d.data.bytes);
  std::array<std::byte, kViDescriptorBytesMax> again;
  const std::size_t emitted = emit_vi_descriptor(again, d);
  CHECK(emitted == bytes.size());
  // The same bytes but for the link to the next descriptor and the status. Without the flag of
  // idata its word has no meaning.
  for (std::size_t i = 12; i < emitted; ++i) {
    const bool is_idata = i >= kViIdataAt && i < kViLengthAt;
    const bool is_status = i >= kViStatusAt && i < kViControlBytes;
    CHECK(again[i] == bytes[i] || is_status || (is_idata && !d.idata));
  }
  ViDescriptor back;
  CHECK(parse_vi_descriptor(base::Bytes(again).first(emitted), queue, back) == kViNoError);
  CHECK(back.op == d.op && back.idata == d.idata && back.is_fenced == d.is_fenced);
  CHECK(back.remote_address == d.remote_address && back.remote_handle == d.remote_handle);
  CHECK(back.length == d.length && back.data.count == d.data.count);
  for (std::size_t i = 0; i < d.data.count; ++i) {
    CHECK(back.data.pieces[i].address == d.data.pieces[i].address);
    CHECK(back.data.pieces[i].lkey == d.data.pieces[i].lkey);
    CHECK(back.data.pieces[i].length == d.data.pieces[i].length);
  }
}

}  // namespace splitnic::fuzz

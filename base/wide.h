// A 128-bit unsigned integer, for sums and products of 64-bit values that must not wrap.
#pragma once

namespace splitnic::base {

__extension__ using Wide = unsigned __int128;

}  // namespace splitnic::base

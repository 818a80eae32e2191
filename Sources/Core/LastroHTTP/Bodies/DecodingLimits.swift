// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Limits for decoding the content codings of one body.
package struct DecodingLimits: Sendable {
  /// The maximum number of nested content codings. Default 1.
  package var codings = 1
  /// The maximum ratio of decoded to received bytes of a streamed body. Default 250.
  package var ratio = 250
  /// The number of decoded bytes from which on `ratio` applies. Default 32 MiB.
  package var floor: Int64 = 32 << 20
  /// The memory of the engine's decoders. Default: as much as there is.
  package var memory: DecodingMemory?
}

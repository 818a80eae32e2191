// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroWire

/// Limits for decoding the content codings of one body.
package struct DecodingLimits: Sendable {
  /// Most content codings, one upon the other. Default 1.
  package var codings: Int
  /// A streamed body that expands to more than so many times its size is refused. Default 250.
  package var ratio: Int
  /// From so many bytes on. Default 32 MiB.
  package var floor: Int64

  package init(
    codings: Int = 1, ratio: Int = 250, floor: Int64 = 32 << 20
  ) {
    self.codings = codings
    self.ratio = ratio
    self.floor = floor
  }
}

extension HTTPFields {
  /// Whether we may ask for a coded body and decode it. A range is one of the representation that is asked for: of
  /// a coded one it could not be decoded.
  var leaveCodingToUs: Bool { !contains(.acceptEncoding) && !contains(.range) }
}

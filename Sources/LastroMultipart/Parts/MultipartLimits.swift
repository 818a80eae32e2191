// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// How much a message of several parts may have beside the bodies of its parts, whose length is the reader's business.
public struct MultipartLimits: Sendable, Hashable {
  /// Most parts. Default `nil`: 1,000, and 10,000 of `multipart/byteranges`.
  public var maximumParts: Int?
  /// Most bytes of a part's head. Default 16 KiB.
  public var maximumHeadBytes = 16 * 1024
  /// Most fields of a part's head. Default 32.
  public var maximumFields = 32
  /// Most bytes in front of the first part, which are dropped. Default 64 KiB.
  public var maximumPreambleBytes = 64 * 1024

  /// Makes the default limits.
  public init() {}

  /// As the machine has them.
  ///
  /// - Throws: code `invalid_option` for a limit below 0.
  func checked(isByteRanges: Bool) throws(TransportError) -> MultipartMachine.Limits {
    let parts = maximumParts ?? (isByteRanges ? 10_000 : 1_000)
    for (name, value) in [
      ("maximumParts", parts), ("maximumHeadBytes", maximumHeadBytes), ("maximumFields", maximumFields),
      ("maximumPreambleBytes", maximumPreambleBytes),
    ] where value < 0 {
      throw .refused(
        .invalidOption, "MultipartLimits.\(name) is \(value), below the minimum of 0", hint: "give 0 or more")
    }
    var limits = MultipartMachine.Limits()
    limits.parts = parts
    limits.headBytes = maximumHeadBytes
    limits.fields = maximumFields
    limits.preambleBytes = maximumPreambleBytes
    return limits
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The limits of a multipart message, which the parameters of `parts` describe.
struct MultipartLimits: Sendable, Hashable {
  /// The maximum number of parts. Default `nil`: 1,000, or 10,000 for `multipart/byteranges`.
  var maximumParts: Int?
  /// The maximum size of a part's head in bytes. Default 16 KiB.
  var maximumHeadBytes = 16 * 1024
  /// The maximum number of fields in a part's head. Default 32.
  var maximumFields = 32

  /// Creates the default limits.
  init() {}

  /// Returns the validated limits for the machine.
  ///
  /// - Throws: code `invalid_option` for a limit below 0.
  func checked(isByteRanges: Bool) throws(TransportError) -> MultipartMachine.Limits {
    let parts = maximumParts ?? (isByteRanges ? 10_000 : 1_000)
    for (name, value) in [
      ("maximumParts", parts), ("maximumHeadBytes", maximumHeadBytes), ("maximumFields", maximumFields),
    ] where value < 0 {
      throw .refused(
        .invalidOption, "\(name) is \(value), below the minimum of 0", hint: "give 0 or more")
    }
    var limits = MultipartMachine.Limits()
    limits.parts = parts
    limits.headBytes = maximumHeadBytes
    limits.fields = maximumFields
    return limits
  }
}

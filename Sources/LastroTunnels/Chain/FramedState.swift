// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What a stream of frames over another stream has of its two directions.
struct FramedState {
  /// Decoded, and not read yet.
  private(set) var bytes = Data()
  var hasEnded = false
  /// Why nothing more is carried: told again by every call, by a read behind the bytes before it.
  var failure: TransportError?
  /// Why nothing more is written, where reading goes on.
  var writeFailure: TransportError?
  /// Our direction is over.
  private(set) var isFinished = false
  private(set) var isClosed = false
  var turns = Turns()

  /// Why nothing can be written.
  var refusal: TransportError? { isClosed || isFinished ? .streamClosed : failure ?? writeFailure }

  /// What a read is answered with; `nil` where more has to come first.
  mutating func taken(upTo maximum: Int) -> Result<Data?, TransportError>? {
    if isClosed { return .failure(.streamClosed) }
    if !bytes.isEmpty {
      // A slice that grows may keep what was read of it.
      defer { bytes = maximum >= bytes.count ? Data() : bytes.dropFirst(maximum) }
      return .success(Data(bytes.prefix(maximum)))
    }
    if let failure { return .failure(failure) }
    return hasEnded ? .success(nil) : nil
  }

  /// - Parameter failure: what is wrong behind these bytes.
  mutating func takeIn(_ output: [UInt8], _ failure: TransportError?) {
    if !isClosed { bytes += output }
    if let failure { self.failure = failure }
  }

  /// Ends our direction.
  ///
  /// - Returns: why it was over before.
  mutating func finish() -> TransportError? {
    isFinished = true
    return isClosed ? .streamClosed : failure ?? writeFailure
  }

  mutating func close() {
    isClosed = true
    bytes = Data()
  }
}

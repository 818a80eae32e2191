// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// The state of both directions of a framed stream over another stream.
struct FramedState {
  /// The decoded bytes that were not read yet.
  private(set) var bytes = Data()
  var hasEnded = false
  /// The error that ended the stream, which every call throws again; a read throws it after the bytes before it.
  var failure: TransportError?
  /// The error that ended writing, while reading continues.
  var writeFailure: TransportError?
  /// Whether the outgoing direction has ended.
  private(set) var isFinished = false
  private(set) var isClosed = false
  var turns = Turns()

  /// The reason why nothing can be written; `nil` if writing is possible.
  var refusal: TransportError? { isClosed || isFinished ? .streamClosed : failure ?? writeFailure }

  /// Returns the result of a read; `nil` if more bytes are needed first.
  mutating func taken(upTo maximum: Int) -> Result<Data?, TransportError>? {
    if isClosed { return .failure(.streamClosed) }
    if !bytes.isEmpty {
      // Release an empty slice: a slice that grows may keep the bytes already read.
      defer { bytes = maximum >= bytes.count ? Data() : bytes.dropFirst(maximum) }
      return .success(Data(bytes.prefix(maximum)))
    }
    if let failure { return .failure(failure) }
    return hasEnded ? .success(nil) : nil
  }

  /// - Parameter failure: the error after these bytes.
  mutating func takeIn(_ output: [UInt8], _ failure: TransportError?) {
    if !isClosed { bytes += output }
    if let failure { self.failure = failure }
  }

  /// Ends the outgoing direction.
  ///
  /// - Returns: the reason why it had already ended; `nil` if it had not.
  mutating func finish() -> TransportError? {
    isFinished = true
    return isClosed ? .streamClosed : failure ?? writeFailure
  }

  mutating func close() {
    isClosed = true
    bytes = Data()
  }
}

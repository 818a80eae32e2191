// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
package import LastroSupport

/// The state of both directions of a stream that decodes the bytes of another stream.
package struct FramedState: Sendable {
  /// The decoded bytes that were not read yet.
  package private(set) var bytes = Data()
  package var hasEnded = false
  /// The error that ended the stream, which every call throws again; a read throws it after the bytes before it.
  package var failure: TransportError?
  /// The error that ended writing, while reading continues.
  package var writeFailure: TransportError?
  /// Whether the outgoing direction has ended.
  package private(set) var isFinished = false
  package private(set) var isClosed = false
  package var turns = Turns()

  package init() {}

  /// The reason why nothing can be written; `nil` if writing is possible.
  package var refusal: TransportError? { isClosed || isFinished ? .streamClosed : failure ?? writeFailure }

  /// Returns the result of a read; `nil` if more bytes are needed first.
  package mutating func taken(upTo maximum: Int) -> Result<Data?, TransportError>? {
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
  package mutating func takeIn(_ output: some Sequence<UInt8>, _ failure: TransportError? = nil) {
    if !isClosed { bytes.append(contentsOf: output) }
    if let failure { self.failure = failure }
  }

  /// Ends the outgoing direction.
  ///
  /// - Returns: the reason why it had already ended; `nil` if it had not.
  package mutating func finishWriting() -> TransportError? {
    isFinished = true
    return isClosed ? .streamClosed : failure ?? writeFailure
  }

  package mutating func close() {
    isClosed = true
    bytes = Data()
  }
}

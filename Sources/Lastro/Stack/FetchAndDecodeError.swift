// SPDX-License-Identifier: Apache-2.0

/// Why ``NetworkStack/fetchAndDecode(_:decoding:)`` failed, telling the fetch from the decoding.
public enum FetchAndDecodeError<FetchError: Error>: Error, CustomStringConvertible {
  /// The fetch failed; also when it was cancelled, in the stack's own terms.
  case fetch(FetchError)
  /// The payload does not decode.
  case decode(DecodeFailure)
  /// The task was cancelled after the fetch had ended, before the model was delivered.
  case cancelled

  /// Whether the cause is that the caller cancelled.
  public var isCancelled: Bool {
    switch self {
    case .cancelled: true
    case .decode: false
    case .fetch(let error): error is CancellationError || (error as? any CancellationTelling)?.isCancelled == true
    }
  }

  /// The error on one line, without secrets.
  public var description: String {
    switch self {
    case .fetch(let error): "\(error)"
    case .decode(let failure): "\(failure)"
    case .cancelled: "the fetch was cancelled"
    }
  }
}

/// An error that knows whether it is a cancellation.
///
/// A ``NetworkStack/FetchError`` that conforms is recognised by ``FetchAndDecodeError/isCancelled``; ``HTTPFetchError``
/// does.
package protocol CancellationTelling: Error {
  /// Whether the cause is that the caller cancelled.
  var isCancelled: Bool { get }
}

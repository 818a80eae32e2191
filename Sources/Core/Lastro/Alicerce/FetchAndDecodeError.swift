// SPDX-License-Identifier: Apache-2.0

/// An error of ``NetworkStack/fetchAndDecode(_:decoding:)``. It distinguishes a failed fetch from a failed decoding.
public enum FetchAndDecodeError<FetchError: Error>: Error, CustomStringConvertible {
  /// The fetch failed. A fetch that was cancelled also has this case, with the stack's own cancelled error.
  case fetch(FetchError)
  /// The payload could not be decoded.
  case decode(DecodeFailure)
  /// The task was cancelled after the fetch had ended and before the model was returned.
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

/// An error that can report whether it is a cancellation.
///
/// ``FetchAndDecodeError/isCancelled`` recognises each ``NetworkStack/FetchError`` that conforms, such as
/// ``HTTPFetchError``.
package protocol CancellationTelling: Error {
  /// Whether the cause is that the caller cancelled.
  var isCancelled: Bool { get }
}

// SPDX-License-Identifier: Apache-2.0

/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
  /// The number of bytes of the request's body that were passed on for sending. It includes bytes that the system has
  /// not sent yet (at most some hundred KiB).
  public var bytesSent: Int64 = 0
  /// The length of the request's body; `nil` if it is not known.
  public var totalBytesToSend: Int64?
  /// The number of bytes of the response's body received from the network, before decompression, as in
  /// `Content-Length`.
  public var bytesReceived: Int64 = 0
  /// The `Content-Length` of the response; `nil` if it has none, and before its head has arrived.
  public var totalBytesToReceive: Int64?

  /// The part of the request's body that was sent, from 0 to 1; `nil` if ``totalBytesToSend`` is `nil`. It is 1 for an
  /// empty body.
  public var fractionSent: Double? { Self.fraction(bytesSent, of: totalBytesToSend) }

  /// The part of the response's body that was received, from 0 to 1; `nil` if ``totalBytesToReceive`` is `nil`. It is 1
  /// for an empty body.
  public var fractionReceived: Double? { Self.fraction(bytesReceived, of: totalBytesToReceive) }

  private static func fraction(_ count: Int64, of total: Int64?) -> Double? {
    guard let total else { return nil }
    return total > 0 ? min(max(Double(count) / Double(total), 0), 1) : 1
  }
}

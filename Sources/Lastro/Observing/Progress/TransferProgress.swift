// SPDX-License-Identifier: Apache-2.0

/// How far a transfer has come.
public struct TransferProgress: Sendable, Hashable {
  /// Bytes of the request's body that were handed over for sending. What the system has not sent yet (some hundred KiB
  /// at most) counts.
  public var bytesSent: Int64
  /// Length of the request's body; `nil` where it is not known.
  public var totalBytesToSend: Int64?
  /// Bytes of the answer's body as they came over the wire, before decompression: what `Content-Length` counts.
  public var bytesReceived: Int64
  /// `Content-Length` of the answer; `nil` where it has none, and before its head is there.
  public var totalBytesToReceive: Int64?

  /// Makes a progress; by default none.
  public init(
    bytesSent: Int64 = 0, totalBytesToSend: Int64? = nil, bytesReceived: Int64 = 0, totalBytesToReceive: Int64? = nil
  ) {
    self.bytesSent = bytesSent
    self.totalBytesToSend = totalBytesToSend
    self.bytesReceived = bytesReceived
    self.totalBytesToReceive = totalBytesToReceive
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import LastroHTTP

/// The loop's end of a stream of bytes or datagrams.
protocol StreamPort: AnyObject {
  var id: UInt64 { get }

  /// Reports that the descriptor is ready.
  func ready(_ ready: Readiness)
  func read(_ read: StreamRead)
  func write(_ write: StreamWrite)

  /// Fails the reader or writer whose time limit has expired, or the dial.
  func expire(now: Int64)

  /// The times at which ``expire(now:)`` has to be called.
  var expirations: [Int64] { get }
}

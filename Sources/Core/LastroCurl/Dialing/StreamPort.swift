// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The loop's end of a stream of bytes or datagrams.
enum StreamPort {
  case bytes(StreamSession)
  case datagrams(DatagramSession)

  var id: UInt64 {
    switch self {
    case .bytes(let session): session.id
    case .datagrams(let session): session.id
    }
  }

  /// Reports that the descriptor is ready.
  func ready(_ ready: Readiness) {
    switch self {
    case .bytes(let session): session.ready(ready)
    case .datagrams(let session): session.ready(ready)
    }
  }

  func read(_ read: StreamRead) {
    switch self {
    case .bytes(let session): session.read(read)
    case .datagrams(let session): session.read(read)
    }
  }

  func write(_ write: StreamWrite) {
    switch self {
    case .bytes(let session): session.write(write)
    case .datagrams(let session): session.write(write)
    }
  }

  /// Fails the reader or writer whose time limit has expired.
  func expire(now: Int64) {
    switch self {
    case .bytes(let session): session.expire(now: now)
    case .datagrams(let session): session.expire(now: now)
    }
  }

  /// The times at which ``expire(now:)`` has to be called.
  var expirations: [Int64] {
    switch self {
    case .bytes(let session): session.expirations
    case .datagrams(let session): session.expirations
    }
  }
}

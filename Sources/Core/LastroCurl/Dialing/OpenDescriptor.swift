// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The loop's end of an open descriptor, with at most one pending read and one pending write. Each is tried at once, and
/// again whenever the descriptor is ready.
protocol OpenDescriptor: AnyObject {
  /// The ends of the errors for a read and for a write whose time limit has expired.
  static var lateness: (read: String, write: String) { get }

  var hub: StreamHub { get }
  var descriptor: Int32 { get }
  var reader: StreamRead? { get set }
  var writer: StreamWrite? { get set }
  /// Whether the descriptor is watched while a read or a write is pending.
  var isWatched: Bool { get }

  /// Returns bytes for a read, or the end; `nil` if the read has to wait.
  func readAvailable(upTo maximum: Int) -> Result<Data?, TransportError>?

  /// Keeps bytes for the next read, because theirs was given up.
  func putBack(_ bytes: Data)

  /// Performs the pending write as far as possible, or drops it if it was given up.
  func serveWriter()
}

extension OpenDescriptor {
  func read(_ read: StreamRead) {
    if let reader, !reader.answer.isGiven { return _ = read.answer.offer(.failure(.streamBusy)) }
    reader = read
    serveReader()
    if reader != nil { hub.deadlines.add(read.expiresAt, read.id) }
    updateInterest()
  }

  /// Performs the pending read if there is something to read, or drops it if it was given up.
  private func serveReader() {
    guard let reader else { return }
    // The read was given up: later bytes are for the next one.
    guard !reader.answer.isGiven else { return self.reader = nil }
    guard let outcome = readAvailable(upTo: reader.maximum) else { return }
    if !reader.answer.offer(outcome), case .success(let bytes?) = outcome { putBack(bytes) }
    self.reader = nil
  }

  /// Begins a write while no other is pending.
  func begin(_ write: StreamWrite) {
    writer = write
    serveWriter()
    if writer != nil { hub.deadlines.add(write.expiresAt, write.id) }
    updateInterest()
  }

  /// Gives the pending read what has arrived, without a report of readiness.
  func look() {
    serveReader()
    updateInterest()
  }

  func ready(_ ready: Readiness) {
    if ready.readable || ready.failed { serveReader() }
    if ready.writable || ready.failed { serveWriter() }
    updateInterest()
  }

  /// Watches the descriptor only while a read or a write is pending. Unread bytes stay in the kernel and cost no turn.
  private func updateInterest() {
    guard isWatched else { return }
    let reads = reader.map { !$0.answer.isGiven } ?? false
    if reads || writer != nil {
      hub.poller.watch(descriptor, owner: StreamHub.descriptorOwner, read: reads, write: writer != nil)
    } else {
      hub.poller.unwatch(descriptor)
    }
  }

  var expirations: [Int64] { [reader?.expiresAt, writer?.expiresAt].compactMap(\.self) }

  func expire(now: Int64) {
    if let reader, now >= reader.expiresAt {
      reader.answer.offer(.failure(.idleStream(Self.lateness.read, within: reader.limit)))
    }
    if let writer, now >= writer.expiresAt {
      writer.answer.offer(.failure(.idleStream(Self.lateness.write, within: writer.limit)))
      serveWriter()
    }
    updateInterest()
  }

  /// Fails the pending read and write.
  func failOperations(_ error: TransportError) {
    reader?.answer.offer(.failure(error))
    writer?.answer.offer(.failure(error))
    reader = nil
    writer = nil
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import FoundationEssentials
internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The loop's end of a datagram stream: a connected UDP socket.
///
/// Owner: ``StreamHub``. Thread: the loop's. Unread datagrams stay in the kernel's buffer, which is bounded: the system
/// drops datagrams that do not fit.
final class DatagramSession: StreamPort {
  /// The maximum sizes of a datagram over IPv4, and over IPv6 without jumbograms (RFC 768, RFC 8200 §4.5).
  private static let mostBytes4 = 65_507
  private static let mostBytes6 = 65_527

  let dial: StreamDial
  let descriptor: Int32
  let facts: StreamFacts
  let maximumBytes: Int
  let ending = StreamEnd()
  private unowned let hub: StreamHub
  private var reader: StreamRead?
  private var writer: StreamWrite?
  /// A datagram that was received for a reader that had given up.
  private var held: Data?
  private var isEnded = false

  var id: UInt64 { dial.id }

  init(_ dial: StreamDial, descriptor: Int32, address: String, hub: StreamHub) {
    self.dial = dial
    self.descriptor = descriptor
    self.hub = hub
    var remote: Int32 = 0, local: Int32 = 0
    clastro_read_ports(descriptor, &remote, &local)
    facts = StreamFacts(remoteAddress: address, remotePort: Int(remote), localPort: Int(local))
    maximumBytes = address.contains(":") ? Self.mostBytes6 : Self.mostBytes4
    hub.poller.noteOpened(descriptor)
  }

  var expirations: [Int64] { [reader?.expiresAt, writer?.expiresAt].compactMap(\.self) }

  func expire(now: Int64) {
    if let reader, now >= reader.expiresAt {
      reader.answer.offer(.failure(.idleStream("no datagram came", within: reader.limit)))
    }
    if let writer, now >= writer.expiresAt {
      writer.answer.offer(.failure(.idleStream("the datagram was not sent", within: writer.limit)))
    }
    updateInterest()
  }

  func read(_ read: StreamRead) {
    if let reader, !reader.answer.isGiven { return _ = read.answer.offer(.failure(.streamBusy)) }
    reader = read
    serveReader()
    if reader != nil { hub.deadlines.add(read.expiresAt, id) }
    updateInterest()
  }

  func write(_ write: StreamWrite) {
    if let writer, !writer.answer.isGiven { return _ = write.answer.offer(.failure(.streamBusy)) }
    writer = write
    serveWriter()
    if writer != nil { hub.deadlines.add(write.expiresAt, id) }
    updateInterest()
  }

  func ready(_ ready: Readiness) {
    if ready.readable || ready.failed { serveReader() }
    if ready.writable || ready.failed { serveWriter() }
    updateInterest()
  }

  private func serveReader() {
    guard let reader else { return }
    guard !reader.answer.isGiven else { return self.reader = nil }
    let outcome: Result<Data?, TransportError>
    if let held {
      outcome = .success(held)
    } else {
      guard let received = receive() else { return }
      outcome = received
    }
    let isTaken = reader.answer.offer(outcome)
    held = isTaken ? nil : try? outcome.get()
    self.reader = nil
  }

  /// Receives a datagram. Returns `nil` if there is none.
  private func receive() -> Result<Data?, TransportError>? {
    let scratch = hub.context.scratch
    while true {
      let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
      if count >= 0 {
        return .success(count == 0 ? Data() : Data(bytes: scratch.baseAddress.unsafelyUnwrapped, count: count))
      }
      if errno == EINTR { continue }
      return errno == EAGAIN ? nil : .failure(Self.failure(.response, errno))
    }
  }

  private func serveWriter() {
    guard let writer else { return }
    guard !writer.answer.isGiven, let data = writer.data else { return self.writer = nil }
    while true {
      let count = data.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      writer.answer.offer(count < 0 ? .failure(Self.failure(.send, errno)) : .success(()))
      return self.writer = nil
    }
  }

  /// Returns the error for a system error about a datagram: the response of a router, or of the host, to an earlier
  /// one.
  static func failure(_ stage: FailureStage, _ code: Int32) -> TransportError {
    switch code {
    case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN:
      return .system(
        .connect, .connectFailed, "the host or the network refused an earlier datagram", code,
        hint: "check host and port: perhaps no program listens there")
    case EMSGSIZE:
      return .system(
        .request, .invalidOption, "the datagram is larger than the network path allows", code,
        hint: "send it in parts")
    default:
      return .system(
        stage, stage == .send ? .sendFailed : .receiveFailed,
        "the system cannot \(stage == .send ? "send" : "receive") a datagram", code,
        hint: "dial again")
    }
  }

  private func updateInterest() {
    guard !isEnded else { return }
    let reads = reader.map { !$0.answer.isGiven } ?? false
    let writes = writer.map { !$0.answer.isGiven } ?? false
    if reads || writes {
      hub.poller.watch(descriptor, owner: StreamHub.descriptorOwner, read: reads, write: writes)
    } else {
      hub.poller.unwatch(descriptor)
    }
  }

  func end(_ error: TransportError) {
    isEnded = true
    ending.set(error)
    reader?.answer.offer(.failure(error))
    writer?.answer.offer(.failure(error))
    reader = nil
    writer = nil
    hub.poller.noteClosing(descriptor)
    Glibc.close(descriptor)
  }
}

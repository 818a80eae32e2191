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
final class DatagramSession: StreamPort, OpenDescriptor {
  static let lateness = (read: "no datagram came", write: "the datagram was not sent")

  let dial: StreamDial
  let descriptor: Int32
  let facts: StreamFacts
  unowned let hub: StreamHub
  var reader: StreamRead?
  var writer: StreamWrite?
  /// A datagram that was received for a reader that had given up.
  private var held: Data?
  private(set) var isWatched = true

  var id: UInt64 { dial.id }

  init(_ dial: StreamDial, descriptor: Int32, address: String, hub: StreamHub) {
    self.dial = dial
    self.descriptor = descriptor
    self.hub = hub
    facts = StreamFacts(
      remoteAddress: address, remotePort: dial.request.port, localPort: Int(clastro_local_port(descriptor)))
    hub.poller.keep(descriptor)
  }

  func write(_ write: StreamWrite) {
    if let writer, !writer.answer.isGiven { return _ = write.answer.offer(.failure(.streamBusy)) }
    begin(write)
  }

  /// Takes one datagram, whatever its size.
  func readAvailable(upTo maximum: Int) -> Result<Data?, TransportError>? {
    if let held = held.take() { return .success(held) }
    let scratch = hub.context.scratch
    let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
    if count < 0 { return errno == EAGAIN ? nil : .failure(Self.failure(.response, errno)) }
    return .success(count == 0 ? Data() : Data(bytes: scratch.baseAddress.unsafelyUnwrapped, count: count))
  }

  func putBack(_ bytes: Data) { held = bytes }

  func serveWriter() {
    guard let writer else { return }
    guard !writer.answer.isGiven, let data = writer.data else { return self.writer = nil }
    let count = data.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
    if count < 0, errno == EAGAIN { return }
    writer.answer.offer(count < 0 ? .failure(Self.failure(.send, errno)) : .success(()))
    self.writer = nil
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

  func end(_ error: TransportError) {
    isWatched = false
    dial.recordEnd(error)
    failOperations(error)
    hub.poller.forget(descriptor)
    Glibc.close(descriptor)
  }
}

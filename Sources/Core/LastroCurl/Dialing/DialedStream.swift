// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import FoundationEssentials
internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The open connection of a ``StreamSession``: its bytes, read and written through libcurl, and the ends of both
/// directions.
///
/// Owner: the session. Thread: the loop's.
final class DialedStream: OpenDescriptor {
  static let lateness = (read: "no byte came", write: "not all bytes were taken")
  /// The maximum number of bytes per read.
  static let readBytes = 64 * 1024
  /// The size of one write to libcurl. If a piece could not be sent, TLS has to get the same piece again.
  private static let writeBytes = 64 * 1024
  /// The number of bytes to write for one stream before others get their turn.
  private static let turnBytes = 256 * 1024
  /// The maximum that one read of libcurl returns when there is more: a TLS record.
  private static let recordBytes = 16 * 1024

  private unowned let session: StreamSession
  let descriptor: Int32
  /// The handle's latest system error at the time of connecting. It is not cleared on success.
  private let oldSystemCode: Int32
  var reader: StreamRead?
  var writer: StreamWrite?
  /// The number of bytes of the current write that were sent.
  private var written = 0
  /// The length of the piece that TLS needs to get again.
  private var pendingBytes: Int?
  private var isWritingFinished = false
  /// The outcome of ending our direction. It does not change.
  private var finishOutcome: Result<Void, TransportError>?
  /// The bytes of close_notify that the socket has not accepted yet.
  private var notice: [UInt8] = []
  /// The bytes that were received and have not been read.
  private(set) var held = Data()
  /// The end of the peer's direction. It does not change.
  private(set) var readEnd: Result<Data?, TransportError>?

  private var easy: EasyHandle { session.easy }
  var hub: StreamHub { session.hub }
  /// A carried connection is watched by its link.
  var isWatched: Bool { !session.isEnded && session.dial.kind != .carried }

  /// Takes over the connection that libcurl has made for a session. Returns `nil` if it has already been closed.
  init?(_ session: StreamSession) {
    self.session = session
    descriptor = session.easy.socket
    guard descriptor >= 0 else { return nil }
    oldSystemCode = session.easy.systemCode
    // The first call ties the handle to its connection for good. Before that, libcurl may check whether an idle
    // connection is dead, and close it, when the next one is dialed in the same multi handle.
    if case .success(let bytes?) = receive(upTo: Self.recordBytes) { held = bytes }
  }

  /// Removes a carried plaintext connection from libcurl, which ends the stream. libcurl uses 10 KiB for a connection,
  /// and does nothing more for it.
  ///
  /// - Returns: the descriptor that the connection uses from now on, because libcurl closes its own; `nil` if the
  ///   process has no descriptor left. Nothing has changed then.
  func leaveLibcurl() -> Int32? {
    let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { return nil }
    session.profile.uses += 1
    hub.poller.keep(own)
    hub.drop(session.id)
    return own
  }

  /// The reason why an open connection cannot be used: data was received before a request was sent.
  var earlyEnd: TransportError {
    guard held.isEmpty else { return .spokenFirst }
    guard case .failure(var alert) = readEnd, alert.stage != .response else { return .goneBeforeSending }
    alert.requestSent = false
    return alert
  }

  // MARK: Reading

  func readAvailable(upTo maximum: Int) -> Result<Data?, TransportError>? {
    if held.isEmpty { return readEnd ?? receive(upTo: maximum) }
    defer { held = Data(held.dropFirst(maximum)) }
    return .success(Data(held.prefix(maximum)))
  }

  func putBack(_ bytes: Data) { held = bytes + held }

  /// Reads available bytes, and notes the end of the peer's direction. OpenSSL may have bytes when the descriptor has
  /// none, so call this before waiting.
  ///
  /// - Returns: the bytes, or the end if there are none before it; `nil` if there is nothing yet.
  private func receive(upTo maximum: Int) -> Result<Data?, TransportError>? {
    let scratch = hub.context.scratch, wanted = min(maximum, scratch.count)
    var total = 0
    while total < wanted {
      var count = 0
      let code = easy.receive(into: scratch.baseAddress.map { $0 + total }, wanted - total, &count)
      if code == CURLE_AGAIN { break }
      guard code == CURLE_OK, count > 0 else {
        readEnd = readingEnd(code)
        session.dial.recordPeerEnd()
        if total == 0 { return readEnd }
        break
      }
      total += count
      if count < Self.recordBytes { break }
    }
    return total == 0 ? nil : .success(Data(bytes: scratch.baseAddress.unsafelyUnwrapped, count: total))
  }

  /// Returns the result for the end of the peer's direction. libcurl returns the same code for close_notify and for a
  /// bare FIN, and the code depends on its version.
  func readingEnd(_ code: CURLcode) -> Result<Data?, TransportError> {
    let peer = session.connectedPeer
    if peer?.hasClosedCleanly == true { return .success(nil) }
    if let error = peer?.alertFailure(code, requestSent: true) { return .failure(error) }
    if code == CURLE_OK { return peer == nil ? .success(nil) : .failure(.truncatedStream) }
    let systemCode = newSystemCode
    // A read never causes EPIPE. It belongs to the alert that OpenSSL sends to a peer that ended without close_notify.
    if systemCode == 0 || systemCode == EPIPE, peer != nil, isAtEnd { return .failure(.truncatedStream) }
    return .failure(.receivingFailed(session.dial.name, systemCode, code))
  }

  private var newSystemCode: Int32 {
    let code = easy.systemCode
    return code == oldSystemCode && code != ECONNRESET ? 0 : code
  }

  /// Whether a FIN has been received.
  private var isAtEnd: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
  }

  // MARK: Writing

  func write(_ write: StreamWrite) {
    if let writer {
      // A write that was given up halfway ends the stream.
      let isGivenUp = writer.answer.isGiven
      write.answer.offer(.failure(isGivenUp ? .streamClosed : .streamBusy))
      if isGivenUp { hub.end(session, .streamClosed) }
      return
    }
    if isWritingFinished {
      write.answer.offer(write.data == nil ? finishOutcome ?? .success(()) : .failure(.writingFinished))
      return
    }
    if write.data == nil, let error = beginFinishing() {
      finishOutcome = .failure(error)
      write.answer.offer(.failure(error))
      return
    }
    written = 0
    begin(write)
  }

  func serveWriter() {
    guard let writer else { return }
    // The write was given up halfway. It is unknown how much the server received, so the stream ends.
    guard !writer.answer.isGiven else { return hub.end(session, .streamClosed) }
    let outcome = writer.data.map(send) ?? sendNotice()
    guard let outcome else { return }
    self.writer = nil
    pendingBytes = nil
    if writer.data == nil { finishOutcome = outcome }
    writer.answer.offer(outcome)
  }

  /// Sends bytes. Returns `nil` if the rest has to wait until the descriptor is ready.
  private func send(_ data: Data) -> Result<Void, TransportError>? {
    data.withUnsafeBytes { bytes in
      var budget = Self.turnBytes
      while written < bytes.count, budget > 0 {
        let length = pendingBytes ?? min(Self.writeBytes, bytes.count - written)
        var count = 0
        let code = easy.send(bytes.baseAddress.map { $0 + written }, length, &count)
        if code == CURLE_AGAIN {
          pendingBytes = length
          return nil
        }
        guard code == CURLE_OK else {
          return .failure(.sendingFailed(session.dial.name, newSystemCode, code))
        }
        pendingBytes = nil
        written += count
        budget -= count
      }
      return written < bytes.count ? nil : .success(())
    }
  }

  /// Ends our direction if that can be done at once, or prepares the bytes that have to be sent for it.
  private func beginFinishing() -> TransportError? {
    isWritingFinished = true
    guard clastro_tls_of(easy.raw) != nil else {
      guard shutdown(descriptor, Int32(SHUT_WR)) != 0, errno != ENOTCONN else { return nil }
      return .system(.send, .sendFailed, "this side could not end its direction of the stream", errno)
    }
    notice = [UInt8](repeating: 0, count: 1_024)
    let count = clastro_make_close_notify(easy.raw, session.isTLS ? session.proxyContext : nil, &notice, notice.count)
    guard count >= 0 else {
      notice = []
      return .unfinishedTLS(nil)
    }
    notice.removeLast(notice.count - count)
    return nil
  }

  private func sendNotice() -> Result<Void, TransportError>? {
    while !notice.isEmpty {
      let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
      let count = Glibc.send(descriptor, notice, notice.count, flags)
      if count < 0 {
        return errno == EAGAIN ? nil : .failure(.unfinishedTLS(errno))
      }
      notice.removeFirst(count)
    }
    return .success(())
  }

  // MARK: The end

  func end(_ error: TransportError) {
    failOperations(error)
    hub.poller.unwatch(descriptor)
  }
}

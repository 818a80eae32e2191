// SPDX-License-Identifier: Apache-2.0

import CLoopback
internal import LastroSupport

/// A connection of a ``LoopbackServer``, driven by its handler: blocking, on the connection's own thread.
///
/// Every call returns when the server is stopped: reads return the end, writes throw ``LoopbackError/disconnected``.
/// When the handler returns or throws, the connection is closed like by ``close()``.
public final class LoopbackConnection {
  /// The number of the connection, from 1, in order of acceptance.
  package let number: Int

  let core: LoopbackCore
  private(set) var descriptor: Int32
  private(set) var tls: OpaquePointer?
  private var buffer: [UInt8] = []
  private var position = 0
  /// Retained for the callbacks of its handshake.
  private var context: TLSContext?
  private var isInHandshake = false
  /// Whether a request was refused because its body exceeds the bounds of the server.
  private(set) var isBodyTooLarge = false
  /// The end of the time for a head, including the wait for it; `nil` within bodies and for servers without bounds.
  private var headEnd: ContinuousClock.Instant?

  init(core: LoopbackCore, number: Int, descriptor: Int32) {
    self.core = core
    self.number = number
    self.descriptor = descriptor
  }

  /// Whether the connection was closed locally.
  package var isClosed: Bool { descriptor < 0 }

  // MARK: reading

  /// Reads the available bytes, up to `max`; blocks until there are some. Returns an empty array at the end: the peer
  /// closed, the connection failed, or it was closed locally.
  public func read(max: Int) -> [UInt8] {
    if position == buffer.count { fill() }
    let taken = Array(buffer[position...].prefix(Swift.max(0, max)))
    position += taken.count
    return taken
  }

  /// Reads exactly the given number of bytes.
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the end comes first.
  public func read(exactly count: Int) throws(LoopbackError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = read(max: count - bytes.count)
      if more.isEmpty { throw .disconnected }
      bytes += more
    }
    return bytes
  }

  /// Reads all bytes until the peer closes its side.
  public func readToEnd() -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let more = read(max: .max)
      if more.isEmpty { return bytes }
      bytes += more
    }
  }

  /// Reads a line and returns it without its CRLF or LF; `nil` if the end comes first. Bytes that are not UTF-8 are
  /// repaired.
  public func readLine() -> String? {
    guard var line = readRawLine(), line.last == UInt8(ascii: "\n") else { return nil }
    line.removeLast()
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return String(decoding: line, as: UTF8.self)
  }

  /// Reads a line including its end, which is missing if the connection ended; `nil` if there was none.
  func readRawLine() -> [UInt8]? {
    var line: [UInt8] = []
    while position < buffer.count || fill() {
      let rest = buffer[position...]
      let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
      line += buffer[position..<end]
      position = end
      // A line without an end is not collected any longer: its reader reports the connection as ended.
      if line.last == UInt8(ascii: "\n") || line.count > maximumHeadBytes { return line }
    }
    return line.isEmpty ? nil : line
  }

  var hasBufferedBytes: Bool { position < buffer.count }

  @discardableResult
  private func fill() -> Bool {
    buffer.removeAll(keepingCapacity: true)
    position = 0
    guard descriptor >= 0, hasArrived() else { return false }
    buffer = [UInt8](unsafeUninitializedCapacity: 16_384) { space, count in
      let base = space.baseAddress.unsafelyUnwrapped
      let got =
        if let tls { cloopback_tls_read(tls, base, space.count) } else {
          cloopback_receive(descriptor, base, space.count)
        }
      count = max(0, got)
    }
    if !isInHandshake { core.received(buffer.count) }
    return !buffer.isEmpty
  }

  /// Waits for bytes if the server has bounds. Returns false when their time limit passes.
  private func hasArrived() -> Bool {
    guard let bounds = core.bounds, tls == nil else { return true }
    let limit = headEnd.map { min(bounds.idle, ContinuousClock.now.duration(to: $0)) } ?? bounds.idle
    let milliseconds = Int32(clamping: Int64(limit / .milliseconds(1)))
    return milliseconds > 0 && cloopback_wait(core.stopSignal, descriptor, -1, milliseconds) != 0
  }

  // MARK: writing

  /// Writes all the bytes.
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the peer is gone or the connection was closed.
  public func write(_ bytes: some Collection<UInt8>) throws(LoopbackError) {
    guard descriptor >= 0 else { throw .disconnected }
    let bytes = Array(bytes)
    if bytes.isEmpty { return }
    let written = bytes.withUnsafeBytes { bytes in
      let base = bytes.baseAddress.unsafelyUnwrapped
      return if let tls { cloopback_tls_write(tls, base, bytes.count) } else {
        cloopback_send(descriptor, base, bytes.count)
      }
    }
    if written < 0 { throw .disconnected }
  }

  /// Writes a text as UTF-8. Line ends are not added: write `\r\n`.
  ///
  /// - Throws: ``LoopbackError/disconnected``.
  public func write(_ text: String) throws(LoopbackError) { try write(Array(text.utf8)) }

  /// Writes bytes one by one, or in pieces, with a pause between them, to simulate a slow peer.
  ///
  /// - Throws: ``LoopbackError/disconnected``.
  package func drip(
    _ bytes: some Collection<UInt8>, piece: Int = 1, every pause: Duration
  ) throws(LoopbackError) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      try write(rest.prefix(max(1, piece)))
      rest = rest.dropFirst(max(1, piece))
      if !rest.isEmpty && !self.pause(pause) { throw .disconnected }
    }
  }

  /// Sends a TLS 1.3 message: a session ticket, or a key update (RFC 8446 §4.6).
  package func sendTLSMessage(isTicket: Bool) throws(LoopbackError) {
    guard let tls, cloopback_tls_send_message(tls, isTicket) else { throw .disconnected }
  }

  // MARK: ending

  /// Sends TLS's close_notify without closing; does nothing over plain TCP.
  package func closeNotify() {
    if let tls { cloopback_tls_close_notify(tls) }
  }

  /// Closes properly: close_notify, FIN, then the descriptor. Unread bytes are discarded first, so that the peer sees
  /// an end and not a reset.
  public func close() {
    guard descriptor >= 0 else { return }
    closeNotify()
    closeWithoutNotify()
  }

  /// Closes without close_notify, which over TLS is a truncation.
  public func closeWithoutNotify() {
    guard descriptor >= 0 else { return }
    cloopback_shutdown(descriptor, false)
    cloopback_drain(descriptor)
    release()
  }

  /// Closes with a TCP reset (`SO_LINGER` 0). A Unix socket is only closed.
  public func reset() {
    guard descriptor >= 0 else { return }
    cloopback_arm_reset(descriptor)
    release()
  }

  /// Resets the connection once the peer's kernel has received all written bytes, because a reset drops unsent ones.
  package func resetAfterDelivery() {
    while descriptor >= 0, cloopback_unacknowledged(descriptor) > 0, pause(.milliseconds(1)) {}
    reset()
  }

  /// Closes the sending side with FIN, without close_notify. Reading remains possible.
  public func halfClose() {
    if descriptor >= 0 { cloopback_shutdown(descriptor, false) }
  }

  /// Closes properly, but first waits until the peer has seen the end and closed its side. Otherwise the peer's next
  /// bytes would cause a reset, which may overtake the bytes sent.
  package func closeAfterPeer() {
    closeNotify()
    halfClose()
    _ = readToEnd()
    closeWithoutNotify()
  }

  private func release() {
    if let tls { cloopback_tls_free(tls) }
    tls = nil
    core.close(descriptor, of: number)
    descriptor = -1
    buffer = []
    position = 0
  }

  // MARK: waiting

  /// Waits until the peer closes its side or goes away, or the server is stopped.
  public func stall() {
    _ = cloopback_wait(core.stopSignal, -1, descriptor, -1)
  }

  /// Whether the peer has closed its side or is gone.
  package var hasPeerLeft: Bool { cloopback_wait(-1, -1, descriptor, 0) != 0 }

  /// Pauses in real time. Returns false at once when the server is stopped.
  @discardableResult
  package func pause(_ duration: Duration) -> Bool {
    let (seconds, attoseconds) = duration.components
    let milliseconds = seconds.multipliedReportingOverflow(by: 1000)
    let whole = milliseconds.overflow ? Int64.max / 2 : milliseconds.partialValue
    // Round up: a pause is never shorter than requested.
    let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    return cloopback_wait(core.stopSignal, -1, -1, Int32(clamping: max(0, whole + fraction))) == 0
  }

  /// Waits until a gate is opened. Returns false when the server is stopped or the peer goes away first.
  @discardableResult
  package func wait(for gate: LoopbackGate) -> Bool {
    let ready = cloopback_wait(core.stopSignal, gate.readEnd, descriptor, -1)
    return ready & Int32(CLOOPBACK_WAIT_SECOND) != 0 && ready & Int32(CLOOPBACK_WAIT_FIRST) == 0
  }

  // MARK: TLS

  /// The TLS version, such as `TLSv1.3`; `nil` over plain TCP.
  package var tlsVersion: String? { tls.map { String(cString: cloopback_tls_version($0)) } }
  /// Whether the TLS session was resumed.
  package var isResumed: Bool { tls.map { cloopback_tls_resumed($0) } ?? false }
  /// The name that the client requested (SNI, RFC 6066 §3).
  package var serverName: String? { tls.flatMap { cloopback_tls_server_name($0) }.map { String(cString: $0) } }
  /// The common name of the client's certificate.
  package var clientName: String? {
    guard let tls, let name = cloopback_tls_client_name(tls) else { return nil }
    defer { cloopback_free(name) }
    return String(cString: name)
  }
  /// The negotiated protocol (RFC 7301).
  package var applicationProtocol: String? {
    var bytes: UnsafePointer<UInt8>?
    guard let tls, case let count = cloopback_tls_alpn(tls, &bytes), count > 0, let bytes else { return nil }
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// Performs the handshake, or the requested failure. Returns whether the handler may run.
  func startTLS(_ context: TLSContext) throws(LoopbackError) -> Bool {
    self.context = context
    if context.fault == .stallInHandshake {
      stall()
      return false
    }
    guard let fault = context.fault else {
      let problem = ErrorText()
      tls = cloopback_tls_accept(context.pointer, descriptor, problem.buffer)
      if tls == nil { throw .handshakeFailed(problem.text) }
      return true
    }
    isInHandshake = true
    // The ClientHello is a record with a header of five bytes, the last two of which are its length (RFC 8446 §5.1).
    let header = try read(exactly: 5)
    _ = try read(exactly: Int(header[3]) << 8 | Int(header[4]))
    switch fault {
    case .resetInHandshake: reset()
    case .plaintextInsteadOfTLS:
      try write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    case .closeInHandshake, .stallInHandshake: break
    }
    return false
  }
}

extension LoopbackConnection {
  /// The maximum number of bytes of a head, of a chunk's line, or of all trailers.
  private var maximumHeadBytes: Int { core.bounds?.headBytes ?? 4 * 1024 * 1024 }

  /// Reads a request head and records it in ``LoopbackServer/requests``. Returns `nil` if the connection ends before
  /// its first byte. Empty lines before it are skipped (RFC 9112 §2.2).
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the connection ends within it, ``LoopbackError/malformedRequest(_:)``.
  package func readHead() throws(LoopbackError) -> RawRequestHead? {
    var bytes: [UInt8] = []
    var lines: [String] = []
    headEnd = core.bounds.map { ContinuousClock.now + $0.idle }
    defer { headEnd = nil }
    while let raw = readRawLine() {
      guard raw.last == UInt8(ascii: "\n") else { throw .disconnected }
      bytes += raw
      if bytes.count > maximumHeadBytes { throw .malformedRequest("its head is too large") }
      let line = raw.dropLast(raw.dropLast().last == UInt8(ascii: "\r") ? 2 : 1)
      if !line.isEmpty {
        lines.append(String(decoding: line, as: UTF8.self))
      } else if lines.isEmpty {
        bytes = []
      } else {
        let head = try RawRequestHead(lines: lines, bytes: bytes)
        if core.bounds != nil { try head.checkFraming() }
        core.record(
          LoopbackRequest(head: head, body: [], isComplete: !head.hasBody, connection: number))
        return head
      }
    }
    if !lines.isEmpty { throw .disconnected }
    return nil
  }

  /// Reads the body that a head announces, chunked or by `Content-Length`, and adds it to the recorded request with its
  /// trailers. Returns an empty body if none is announced.
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the connection ends within it, ``LoopbackError/malformedRequest(_:)``.
  @discardableResult
  package func readBody(for head: RawRequestHead) throws(LoopbackError) -> [UInt8] { try readWhole(head).body }

  private func readWhole(
    _ head: RawRequestHead
  ) throws(LoopbackError) -> (body: [UInt8], trailers: [RawRequestHead.Field]) {
    var body: [UInt8] = []
    var trailers: [RawRequestHead.Field] = []
    if head.isChunked {
      (body, trailers) = try (readChunks(), readTrailers())
    } else if let text = head["Content-Length"] {
      guard let length = Int(digits: text) else { throw .malformedRequest("Content-Length is \"\(text)\"") }
      try check(length)
      body = try read(exactly: length)
    }
    core.complete(connection: number, body: body, trailers: trailers)
    return (body, trailers)
  }

  /// Reads a head and its body, and answers `Expect: 100-continue` in between. Returns `nil` if the connection ends
  /// first.
  ///
  /// - Throws: ``LoopbackError``.
  public func readRequest() throws(LoopbackError) -> LoopbackRequest? {
    guard let head = try readHead() else { return nil }
    if head.hasBody && head["Expect"]?.lowercased() == "100-continue" {
      try write("HTTP/1.1 100 Continue\r\n\r\n")
    }
    let (body, trailers) = try readWhole(head)
    return LoopbackRequest(head: head, body: body, trailerFields: trailers, isComplete: true, connection: number)
  }

  /// Refuses a body, or the next chunk of one, that is larger than the bounds of the server allow.
  private func check(_ length: Int, after count: Int = 0) throws(LoopbackError) {
    guard let limit = core.bounds?.bodyBytes, length > limit - count else { return }
    isBodyTooLarge = true
    throw .malformedRequest("its body has more than \(limit) bytes")
  }

  private func readChunks() throws(LoopbackError) -> [UInt8] {
    var body: [UInt8] = []
    while true {
      guard let line = readLine() else { throw .disconnected }
      let digits = line.prefix { $0 != ";" && $0 != " " }
      guard let length = Int(digits: digits, radix: 16) else {
        throw .malformedRequest("\"\(line)\" is not a chunk size")
      }
      if length == 0 { return body }
      try check(length, after: body.count)
      body += try read(exactly: length)
      guard readLine() == "" else { throw .malformedRequest("a chunk does not end where it should") }
    }
  }

  private func readTrailers() throws(LoopbackError) -> [RawRequestHead.Field] {
    var trailers: [RawRequestHead.Field] = []
    var left = maximumHeadBytes
    while true {
      guard let line = readLine() else { throw .disconnected }
      left -= line.utf8.count + 2
      guard left >= 0 else { throw .malformedRequest("its trailers are too large") }
      if line.isEmpty { return trailers }
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw .malformedRequest("\"\(line)\" is not a field") }
      trailers.append(.init(name: String(parts[0]), value: String(parts[1].drop { $0 == " " })))
    }
  }
}

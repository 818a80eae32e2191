// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP

/// A TLS connection of OpenSSL that reads from and writes to memory. It does no I/O, and is used by one thread at a
/// time.
final class TLSSession {
  enum ReadStep {
    case bytes(Data)
    case needsInput
    case closed
    case failed(TransportError)
  }

  /// The outcome of a call of OpenSSL.
  private enum Outcome {
    case done
    case needsInput
    /// The peer sent close_notify.
    case closed
    /// The input ended before close_notify.
    case truncated
    case failed
  }

  /// The maximum plaintext that OpenSSL puts into one record (RFC 8446 §5.1).
  static let recordBytes = 16_384

  /// OpenSSL's session.
  private let ssl: OpaquePointer
  private let gate: TLSGate
  private let peer: TLSPeer
  /// The verdict of the judges on the server.
  private var verdict: TrustVerdict?
  private var hasInputEnded = false
  /// OpenSSL's text for the latest failure.
  private var reason = "no reason given"

  init(_ plan: TLSPlan) throws(TransportError) {
    let context = try plan.makeContext()
    // The session keeps its own reference.
    defer { SSL_CTX_free(context) }
    guard let peer = plan.gate.attach(to: UnsafeMutableRawPointer(context))?.peer,
      let ssl = clastro_tls_in_memory(context)
    else { throw .noTLSSession }
    gate = plan.gate
    self.peer = peer
    self.ssl = ssl
    ERR_clear_error()
    defer { ERR_clear_error() }
    let host = gate.target.host
    guard host.isIPAddress || host.text.withCString(sendName) else { throw .noTLSSession }
    SSL_set_connect_state(ssl)
  }

  deinit { SSL_free(ssl) }

  /// Sets the name that is sent to the server (SNI).
  private func sendName(_ name: UnsafePointer<CChar>) -> Bool {
    SSL_ctrl(
      ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), UnsafeMutableRawPointer(mutating: name)) == 1
  }

  /// Calls a function of OpenSSL, whose result is 1 on success.
  private func perform(_ call: () -> Int32) -> Outcome {
    ERR_clear_error()
    let result = call()
    if result == 1 { return .done }
    defer { ERR_clear_error() }
    let error = SSL_get_error(ssl, result)
    if error == SSL_ERROR_WANT_READ, !hasInputEnded { return .needsInput }
    if error == SSL_ERROR_ZERO_RETURN { return .closed }
    let code = ERR_peek_last_error()
    let text = code == 0 ? nil : ERR_reason_error_string(code)
    reason = text.map { String(cString: $0) } ?? "no reason given"
    let isCut =
      error == SSL_ERROR_WANT_READ || error == SSL_ERROR_SYSCALL
      || ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING
    return hasInputEnded && isCut ? .truncated : .failed
  }

  // MARK: bytes

  /// Continues the handshake. Returns true once it has ended and the server was accepted.
  func handshake() throws(TransportError) -> Bool {
    switch perform({ SSL_do_handshake(ssl) }) {
    case .done:
      // Fail closed: a resumed session shows no chain, and a peer must be judged in this handshake.
      do throws(TrustFailure) {
        verdict = try gate.admit(SSL_session_reused(ssl) == 1 ? nil : peer)
      } catch {
        throw .refusedTrust(error)
      }
      return true
    case .needsInput: return false
    case let outcome: throw handshakeFailure(outcome)
    }
  }

  /// Returns at most `maximum` received bytes.
  func read(upTo maximum: Int) -> ReadStep {
    var outcome = Outcome.done
    let bytes = [UInt8](unsafeUninitializedCapacity: min(maximum, 4 * Self.recordBytes)) { space, filled in
      while filled < space.count, let base = space.baseAddress {
        var count = 0
        outcome = perform { SSL_read_ex(ssl, base + filled, space.count - filled, &count) }
        guard outcome == .done, count > 0 else { break }
        filled += count
      }
    }
    // The next call finds the error that follows these bytes again.
    if !bytes.isEmpty, outcome == .done || outcome == .needsInput { return .bytes(Data(bytes)) }
    let ending = ending(outcome)
    guard bytes.isEmpty else {
      self.ending = ending
      return .bytes(Data(bytes))
    }
    return ending
  }

  /// The end that was found after the latest bytes.
  private(set) var ending: ReadStep?

  private func ending(_ outcome: Outcome) -> ReadStep {
    switch outcome {
    case .closed: .closed
    case .truncated: .failed(.truncatedStream)
    case .needsInput, .done: .needsInput
    case .failed: .failed(failure())
    }
  }

  /// Encrypts all bytes.
  func write(_ bytes: Data) throws(TransportError) {
    let isWritten = bytes.withUnsafeBytes { buffer -> Bool in
      var rest = buffer[...]
      while !rest.isEmpty {
        let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.recordBytes))
        var written = 0
        guard perform({ SSL_write_ex(ssl, piece.baseAddress, piece.count, &written) }) == .done, written == piece.count
        else { return false }
        rest = rest.dropFirst(piece.count)
      }
      return true
    }
    guard isWritten else { throw failure() }
  }

  func closeNotify() {
    ERR_clear_error()
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  func feed(_ bytes: Data?) {
    guard let bytes else { return endInput() }
    bytes.withUnsafeBytes { buffer in
      if buffer.isEmpty { return }
      let count = BIO_write(SSL_get_rbio(ssl), buffer.baseAddress, Int32(clamping: buffer.count))
      // If memory cannot be allocated, end the input: no bytes may be missing in between.
      if Int(count) != buffer.count { endInput() }
    }
  }

  private func endInput() {
    hasInputEnded = true
    BIO_ctrl(SSL_get_rbio(ssl), BIO_C_SET_BUF_MEM_EOF_RETURN, 0, nil)
  }

  /// The number of bytes to send.
  var outputCount: Int { BIO_ctrl_pending(SSL_get_wbio(ssl)) }

  func takeOutput() -> Data {
    let count = outputCount
    guard count > 0 else { return Data() }
    return Data(
      [UInt8](unsafeUninitializedCapacity: count) { space, filled in
        filled = max(0, Int(BIO_read(SSL_get_wbio(ssl), space.baseAddress, Int32(clamping: count))))
      })
  }

  // MARK: what is known

  /// Returns the facts of the connection, after the handshake.
  func facts(over below: StreamFacts) -> StreamFacts {
    var facts = below
    facts.tls = StreamFacts.TLS(of: ssl)
    facts.trust = verdict ?? .plain
    return facts
  }

  // MARK: failures

  private func handshakeFailure(_ outcome: Outcome) -> TransportError {
    if let refusal = peer.refusal(nil) { return refusal }
    let isCut = outcome == .truncated || outcome == .closed
    return .brokenHandshake(peer.role == .proxy ? .proxy : .tls, gate.target.name, isCut ? nil : reason)
  }

  private func failure() -> TransportError {
    peer.alert?.failure(.tls, requestSent: true) ?? .brokenTLS(gate.target.name, reason)
  }
}

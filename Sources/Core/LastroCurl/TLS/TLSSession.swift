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

  /// The maximum plaintext that OpenSSL puts into one record (RFC 8446 §5.1).
  static let recordBytes = 16_384

  private let session: OpaquePointer
  private let gate: TLSGate
  private let peer: TLSPeer
  /// The verdict of the judges on the server.
  private var verdict: TrustVerdict?

  init(_ plan: TLSPlan) throws(TransportError) {
    let context = try plan.makeContext()
    // The session keeps its own reference.
    defer { clastro_nested_context_free(context) }
    let host = plan.gate.target.host
    guard let peer = plan.gate.attach(to: context)?.peer,
      let session = clastro_session_new(context, host.isIPAddress ? nil : host.text)
    else { throw TransportError.noTLSSession }
    gate = plan.gate
    self.peer = peer
    self.session = session
  }

  deinit { clastro_session_free(session) }

  // MARK: bytes

  /// Continues the handshake. Returns true once it has ended and the server was accepted.
  func handshake() throws(TransportError) -> Bool {
    switch clastro_session_handshake(session) {
    case CLASTRO_SESSION_DONE:
      // Fail closed: a resumed session shows no chain, and a peer must be judged in this handshake.
      do throws(TrustFailure) {
        verdict = try gate.admit(clastro_session_is_resumed(session) ? nil : peer)
      } catch {
        throw .refusedTrust(error)
      }
      return true
    case CLASTRO_SESSION_NEEDS_INPUT: return false
    case let result: throw handshakeFailure(result)
    }
  }

  /// Returns at most `maximum` received bytes.
  func read(upTo maximum: Int) -> ReadStep {
    var result = CLASTRO_SESSION_DONE
    let bytes = [UInt8](unsafeUninitializedCapacity: min(maximum, 4 * Self.recordBytes)) { space, filled in
      while filled < space.count, let base = space.baseAddress {
        var count = 0
        result = clastro_session_read(session, base + filled, space.count - filled, &count)
        guard result == CLASTRO_SESSION_DONE, count > 0 else { break }
        filled += count
      }
    }
    // The next call finds the error that follows these bytes again.
    if !bytes.isEmpty, result == CLASTRO_SESSION_DONE || result == CLASTRO_SESSION_NEEDS_INPUT {
      return .bytes(Data(bytes))
    }
    let ending = ending(result)
    guard bytes.isEmpty else {
      self.ending = ending
      return .bytes(Data(bytes))
    }
    return ending
  }

  /// The end that was found after the latest bytes.
  private(set) var ending: ReadStep?

  private func ending(_ result: clastro_session_result) -> ReadStep {
    switch result {
    case CLASTRO_SESSION_CLOSED: .closed
    case CLASTRO_SESSION_TRUNCATED: .failed(.truncatedStream)
    case CLASTRO_SESSION_NEEDS_INPUT, CLASTRO_SESSION_DONE: .needsInput
    default: .failed(failure())
    }
  }

  /// Encrypts all bytes.
  func write(_ bytes: Data) throws(TransportError) {
    let isWritten = bytes.withUnsafeBytes { buffer -> Bool in
      var rest = buffer[...]
      while !rest.isEmpty {
        let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.recordBytes))
        guard let base = piece.baseAddress,
          clastro_session_write(session, base.assumingMemoryBound(to: UInt8.self), piece.count) == CLASTRO_SESSION_DONE
        else { return false }
        rest = rest.dropFirst(piece.count)
      }
      return true
    }
    guard isWritten else { throw failure() }
  }

  func closeNotify() { _ = clastro_session_close_notify(session) }

  func feed(_ bytes: Data?) {
    guard let bytes else { return clastro_session_end_input(session) }
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      // If memory cannot be allocated, end the input: no bytes may be missing in between.
      if !clastro_session_feed(session, base.assumingMemoryBound(to: UInt8.self), buffer.count) {
        clastro_session_end_input(session)
      }
    }
  }

  /// The number of bytes to send.
  var outputCount: Int { clastro_session_output_count(session) }

  func takeOutput() -> Data {
    let count = outputCount
    guard count > 0 else { return Data() }
    return Data(
      [UInt8](unsafeUninitializedCapacity: count) { space, filled in
        if let base = space.baseAddress { filled = clastro_session_take_output(session, base, count) }
      })
  }

  // MARK: what is known

  /// Returns the facts of the connection, after the handshake.
  func facts(over below: StreamFacts) -> StreamFacts {
    var facts = below
    facts.tls = StreamFacts.TLS(of: clastro_session_tls(session))
    facts.trust = verdict ?? .plain
    return facts
  }

  // MARK: failures

  private func handshakeFailure(_ result: clastro_session_result) -> TransportError {
    if var refusal = peer.refusal(CURLE_PEER_FAILED_VERIFICATION, requestSent: false) {
      // libcurl is not involved.
      refusal.engineCode = nil
      return refusal
    }
    let stage: FailureStage = peer.role == .proxy ? .proxy : .tls
    if let alert = peer.alert {
      return alert.failure(stage, requestSent: false)
    }
    let isCut = result == CLASTRO_SESSION_TRUNCATED || result == CLASTRO_SESSION_CLOSED
    return .brokenHandshake(stage, gate.target.name, isCut ? nil : reason)
  }

  private func failure() -> TransportError {
    if let alert = peer.alert {
      return alert.failure(.tls, requestSent: true)
    }
    return .brokenTLS(gate.target.name, reason)
  }

  private var reason: String { clastro_session_failure(session).map { String(cString: $0) } ?? "no reason given" }
}

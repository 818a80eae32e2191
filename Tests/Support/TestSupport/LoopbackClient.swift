// SPDX-License-Identifier: Apache-2.0

import CLoopback
import CLoopbackClient
package import LastroTesting

/// A small blocking client, which tests the loopback servers without the engine that those servers test.
package final class LoopbackClient {
  /// The end of a connection.
  package enum Ending: Sendable, Hashable {
    /// FIN, after close_notify over TLS.
    case orderly
    /// FIN without close_notify, over TLS.
    case truncated
    /// RST.
    case reset
    /// Any other failure.
    case failed
  }

  /// A TLS session that another connection may resume.
  package final class Session {
    fileprivate let pointer: OpaquePointer

    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { cloopback_tls_session_free(pointer) }
  }

  private let descriptor: Int32
  private let tls: OpaquePointer?

  /// Connects without TLS.
  package init(to endpoint: LoopbackEndpoint) throws(LoopbackError) {
    descriptor = try Self.connect(to: endpoint)
    tls = nil
  }

  /// Connects over TLS, and verifies the server against roots.
  package init(
    to endpoint: LoopbackEndpoint, host: String = "localhost", trusting roots: String, protocols: [String] = [],
    identity: MintedCertificate? = nil, resuming session: Session? = nil, asksStaple: Bool = false
  ) throws(LoopbackError) {
    let descriptor = try Self.connect(to: endpoint)
    let strings = CStrings()
    let problem = ErrorText()
    let alpn = protocols.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
    let tls = alpn.withUnsafeBufferPointer { alpn in
      var options = cloopback_tls_client_options(
        roots_pem: strings.copy(roots), host: strings.copy(host), alpn: alpn.baseAddress, alpn_length: alpn.count,
        chain_pem: (identity?.chainPEM).map(strings.copy), key_pem: (identity?.privateKeyPEM).map(strings.copy),
        session: session?.pointer, asks_staple: asksStaple)
      return cloopback_tls_connect(descriptor, &options, problem.buffer)
    }
    guard let tls else {
      cloopback_close(descriptor)
      throw .handshakeFailed(problem.text)
    }
    self.descriptor = descriptor
    self.tls = tls
  }

  deinit {
    if let tls { cloopback_tls_free(tls) }
    cloopback_close(descriptor)
  }

  private static func connect(to endpoint: LoopbackEndpoint) throws(LoopbackError) -> Int32 {
    let strings = CStrings()
    let descriptor =
      switch endpoint {
      case .port(let port): cloopback_connect_tcp(port)
      case .unixSocket(let path): cloopback_connect_unix(strings.copy(path))
      }
    if descriptor < 0 { throw .disconnected }
    return descriptor
  }

  /// The current session; with TLS 1.3 it can be resumed only after data was read.
  package var session: Session? { tls.flatMap { cloopback_tls_session_keep($0) }.map(Session.init) }

  /// Whether a session was resumed.
  package var isResumed: Bool { tls.map { cloopback_tls_resumed($0) } ?? false }

  /// The stapled OCSP response; empty if there is none.
  package var staple: [UInt8] {
    var bytes: UnsafePointer<UInt8>?
    guard let tls, case let count = cloopback_tls_staple(tls, &bytes), count > 0, let bytes else { return [] }
    return Array(UnsafeBufferPointer(start: bytes, count: count))
  }

  /// The certificates that the server sent, as DER, in order; empty if the session was resumed.
  package var peerChain: [[UInt8]] {
    guard let tls else { return [] }
    var found: [[UInt8]] = []
    withUnsafeMutablePointer(to: &found) { found in
      _ = cloopback_tls_peer_chain(
        tls,
        { context, der, length in
          context?.assumingMemoryBound(to: [[UInt8]].self).pointee.append(
            Array(UnsafeBufferPointer(start: der, count: length)))
        }, found)
    }
    return found
  }

  /// Sends the whole text, over plain connections and over TLS connections whose peer still reads.
  package func send(_ text: String) throws(LoopbackError) { try send(Array(text.utf8)) }

  /// Sends all bytes.
  package func send(_ bytes: [UInt8]) throws(LoopbackError) {
    let sent =
      if let tls { cloopback_tls_write(tls, bytes, bytes.count) } else {
        cloopback_send(descriptor, bytes, bytes.count)
      }
    if sent < 0 { throw .disconnected }
  }

  /// Closes the sending side with FIN.
  package func halfClose() { cloopback_shutdown(descriptor, false) }

  /// Reads the available bytes; returns none at any kind of end.
  package func receive() -> (bytes: [UInt8], ending: Ending?) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let got =
      if let tls { cloopback_tls_read(tls, &buffer, buffer.count) } else {
        cloopback_receive(descriptor, &buffer, buffer.count)
      }
    switch got {
    case 1...: return (Array(buffer.prefix(got)), nil)
    case 0: return ([], .orderly)
    case Int(CLOOPBACK_READ_TRUNCATED): return ([], .truncated)
    case Int(CLOOPBACK_READ_RESET): return ([], .reset)
    default: return ([], .failed)
    }
  }

  /// Reads until the end.
  package func receiveAll() -> (text: String, ending: Ending) {
    var bytes: [UInt8] = []
    while true {
      let (more, ending) = receive()
      bytes += more
      if let ending { return (String(decoding: bytes, as: UTF8.self), ending) }
    }
  }

  /// Reads until the received text ends with `suffix`, or the connection ends.
  package func receive(until suffix: String) -> String {
    var text = ""
    while !text.hasSuffix(suffix) {
      let (more, ending) = receive()
      if ending != nil { break }
      text += String(decoding: more, as: UTF8.self)
    }
    return text
  }
}

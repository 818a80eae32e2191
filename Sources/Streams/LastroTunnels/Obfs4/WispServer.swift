// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// An obfs4 server (a "bridge"): its address, its certificate, and the timing of writes.
///
/// The operator of the server publishes the certificate: node ID and public key in base64. A program that has it can
/// talk to the server, and detect that it is one. Descriptions and `dump` therefore show neither the certificate nor
/// the address.
///
/// ```swift
/// let server = try WispServer("obfs4 192.0.2.7:443 cert=AQID…cg iat-mode=0")
/// ```
public struct WispServer: Sendable, Hashable {
  /// The way writes are split and delayed: obfs4's `iat-mode`. Each end has its own setting; the two need not agree.
  public enum Timing: Int, Sendable, Hashable, CaseIterable {
    /// 0: each write is padded to a random length, and sent at once.
    case immediate = 0
    /// 1: pieces of at most 1,448 bytes, each followed by a random pause of at most 10 ms.
    case paused = 1
    /// 2: pieces of random lengths, each followed by a random pause of at most 10 ms. This is the slowest mode.
    case paranoid = 2
  }

  /// The host name or IP address in its canonical form; IPv6 without brackets.
  public let host: String
  /// The port, 1 to 65,535.
  public let port: Int
  /// The certificate: always 70 characters of base64, without `==`.
  public let certificate: Secret
  /// The way writes are split and delayed. Default ``Timing/immediate``.
  public let mode: Timing
  let identity: Obfs4Identity

  /// Creates a server from its certificate.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address.
  ///   - port: 1 to 65,535.
  ///   - certificate: base64 of node ID and public key, with or without a trailing `==`; `cert` of a bridge line.
  ///   - mode: the way writes are split and delayed; `iat-mode` of a bridge line. Default 0.
  /// - Throws: `ConfigurationError` for an invalid host, port or certificate. It contains no part of the certificate.
  public init(
    host: String, port: Int, certificate: Secret, mode: Timing = .immediate
  ) throws(ConfigurationError) {
    try self.init(host: host, port: port, identity: WispCertificate.bytes(of: certificate.reveal()), mode: mode)
  }

  /// Creates a server from the two halves of a certificate, as published by old servers.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address.
  ///   - port: 1 to 65,535.
  ///   - nodeID: 40 hexadecimal digits; `node-id` of a bridge line.
  ///   - publicKey: 64 hexadecimal digits; `public-key` of a bridge line.
  ///   - mode: the way writes are split and delayed. Default 0.
  /// - Throws: `ConfigurationError`, as above.
  public init(
    host: String, port: Int, nodeID: Secret, publicKey: Secret, mode: Timing = .immediate
  ) throws(ConfigurationError) {
    let identity =
      try WispCertificate.bytes(ofHexadecimal: nodeID.reveal(), count: 20, "node id")
      + WispCertificate.bytes(ofHexadecimal: publicKey.reveal(), count: 32, "public key")
    try self.init(host: host, port: port, identity: identity, mode: mode)
  }

  /// - Parameter identity: node ID and public key.
  init(host: String, port: Int, identity: [UInt8], mode: Timing) throws(ConfigurationError) {
    do throws(TransportError) {
      self.host = try NestedTarget(host: host, port: port).hostText
    } catch {
      throw ConfigurationError("the obfs4 server's address is not valid: \(error.message)", hint: error.hint)
    }
    self.port = port
    self.identity = try WispCertificate.identity(of: identity)
    self.mode = mode
    certificate = Secret(WispCertificate.text(of: identity))
  }

  /// Returns the request that dials this server, for a stream to another host.
  func request(
    for request: DialRequest, within limit: Duration?
  ) throws(TransportError) -> DialRequest {
    guard request.connection?.unixSocketPath == nil else {
      throw .refused(
        .invalidOption, "an obfs4 server cannot be asked for a Unix socket",
        hint: "leave unixSocketPath out, or dial without the obfs4 server")
    }
    // The client's certificate is for the server behind this one.
    var connection = request.connection
    connection?.tls.identity = nil
    return DialRequest(host: host, port: port, role: .proxy, connection: connection, connectTimeout: limit)
  }
}

extension WispServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The server in the form `obfs4:*** iat-mode=0`, without address and certificate, which would reveal a hidden
  /// server.
  public var description: String { "obfs4:\(Redaction.mask) iat-mode=\(mode.rawValue)" }
  /// The same text as ``description``.
  public var debugDescription: String { description }
  /// A mirror with only the mode.
  public var customMirror: Mirror { Mirror(self, children: ["mode": mode]) }
}

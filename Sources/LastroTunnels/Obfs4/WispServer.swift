// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroObfuscation

/// A server of obfs4 (a "bridge"): where it listens, what it is known by, and how writes to it are timed.
///
/// The certificate is what the server's operator gives out: node id and public key in base64. A program that has it can
/// talk to the server, and find out that it is one: descriptions and `dump` show neither it nor the address.
///
/// ```swift
/// let server = try WispServer("obfs4 192.0.2.7:443 cert=AQID…cg iat-mode=0")
/// ```
public struct WispServer: Sendable, Hashable {
  /// How writes are cut and timed: obfs4's `iat-mode`. Each end has its own; the two need not agree.
  public enum Timing: Int, Sendable, Hashable, CaseIterable {
    /// 0: each write is padded to a drawn length, and leaves at once.
    case immediate = 0
    /// 1: pieces of 1,448 bytes at most, with a drawn pause of 10 ms at most behind each.
    case paused = 1
    /// 2: pieces of drawn lengths, with a drawn pause of 10 ms at most behind each. The slowest.
    case paranoid = 2
  }

  /// Name or address, in its canonical form; IPv6 without brackets.
  public let host: String
  /// Port, 1 to 65,535.
  public let port: Int
  /// The certificate: 70 characters of base64, without `==`, whatever it was made from.
  public let certificate: Secret
  /// How writes are cut and timed. Default ``Timing/immediate``.
  public let mode: Timing
  let identity: Obfs4Identity

  /// Makes one.
  ///
  /// - Parameters:
  ///   - host: name or address.
  ///   - port: 1 to 65,535.
  ///   - certificate: base64 of node id and public key, without or with `==` at its end; `cert` of a bridge line.
  ///   - mode: how writes are cut and timed; `iat-mode` of a bridge line. Default 0.
  /// - Throws: `ConfigurationError` for a host, a port or a certificate that is not valid. It shows nothing of the
  ///   certificate.
  public init(
    host: String, port: Int, certificate: Secret, mode: Timing = .immediate
  ) throws(ConfigurationError) {
    try self.init(host: host, port: port, identity: WispCertificate.bytes(of: certificate.reveal()), mode: mode)
  }

  /// Makes one from the two halves of a certificate, as old servers gave them out.
  ///
  /// - Parameters:
  ///   - host: name or address.
  ///   - port: 1 to 65,535.
  ///   - nodeID: 40 hexadecimal digits; `node-id` of a bridge line.
  ///   - publicKey: 64 hexadecimal digits; `public-key` of a bridge line.
  ///   - mode: how writes are cut and timed. Default 0.
  /// - Throws: `ConfigurationError`, as above.
  public init(
    host: String, port: Int, nodeID: Secret, publicKey: Secret, mode: Timing = .immediate
  ) throws(ConfigurationError) {
    let identity =
      try WispCertificate.bytes(ofHexadecimal: nodeID.reveal(), count: 20, "node id")
      + WispCertificate.bytes(ofHexadecimal: publicKey.reveal(), count: 32, "public key")
    try self.init(host: host, port: port, identity: identity, mode: mode)
  }

  /// - Parameter identity: node id and public key.
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

  /// The request that dials it, for a stream to another host.
  func request(
    for request: DialRequest, within limit: Duration?
  ) throws(TransportError) -> DialRequest {
    guard request.connection?.unixSocketPath == nil else {
      throw .refused(
        .invalidOption, "an obfs4 server cannot be asked for a Unix socket",
        hint: "leave unixSocketPath out, or dial without the obfs4 server")
    }
    // The client's certificate is for the server behind it.
    var connection = request.connection
    connection?.tls.identity = nil
    return DialRequest(host: host, port: port, role: .proxy, connection: connection, connectTimeout: limit)
  }
}

extension WispServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Such as `obfs4:*** iat-mode=0`: without address and certificate, for both name a server that hides.
  public var description: String { "obfs4:\(Redaction.mask) iat-mode=\(mode.rawValue)" }
  /// As ``description``.
  public var debugDescription: String { description }
  /// The mode alone.
  public var customMirror: Mirror { Mirror(self, children: ["mode": mode]) }
}

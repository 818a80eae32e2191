// SPDX-License-Identifier: Apache-2.0

/// What TLS accepts and presents. Certificate chain and host name are always checked.
public struct TLSOptions: Sendable, Hashable {
  /// A TLS version.
  public enum Version: Int, Sendable, Hashable, Comparable {
    /// TLS 1.0 (obsolete: RFC 8996).
    case v1_0
    /// TLS 1.1 (obsolete: RFC 8996).
    case v1_1
    /// TLS 1.2.
    case v1_2
    /// TLS 1.3.
    case v1_3

    /// Older versions come first.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
  }

  /// Where trusted roots come from.
  public enum Roots: Sendable, Hashable {
    /// The system's bundle.
    case system
    /// A PEM file with one or more certificates.
    case file(String)
    /// PEM text with one or more certificates.
    case pem([UInt8])
  }

  /// PEM that lies in a file or in memory.
  public enum PEM: Sendable, Hashable {
    /// Path of a PEM file.
    case file(String)
    /// PEM text.
    case bytes([UInt8])
  }

  /// A client certificate (chain, leaf first) and its private key.
  public struct Identity: Sendable, Hashable {
    /// Certificate chain.
    public var certificate: PEM
    /// Private key; `nil` when it stands in the same PEM as the certificate.
    public var key: PEM?
    /// Password of the key, if it is encrypted.
    public var keyPassword: String?

    /// Makes an identity.
    public init(certificate: PEM, key: PEM? = nil, keyPassword: String? = nil) {
      self.certificate = certificate
      self.key = key
      self.keyPassword = keyPassword
    }
  }

  /// Default ``Roots/system``.
  public var roots: Roots = .system
  /// Default `nil`: no client certificate.
  ///
  /// A request's own identity stays behind when a redirect leaves the origin, as credentials in header fields do. One
  /// that a transport has by default is presented to every server that asks for a certificate.
  public var identity: Identity?
  /// Default TLS 1.2.
  public var minimumVersion: Version = .v1_2

  /// Judges servers after chain and host name are checked. Default `nil`: these suffice.
  ///
  /// The judge of a transport's own options holds for every request. One in a request's options is asked in addition.
  public var trustJudge: (any ServerTrustJudge)? {
    get { judge?.judge }
    set { judge = newValue.map(JudgeReference.init) }
  }

  /// Equal where it is the same object: two judges with equal rules may come to differ.
  private struct JudgeReference: Sendable, Hashable {
    let judge: any ServerTrustJudge

    static func == (left: Self, right: Self) -> Bool { left.judge === right.judge }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(judge)) }
  }

  private var judge: JudgeReference?

  /// Makes the default options.
  public init() {}
}

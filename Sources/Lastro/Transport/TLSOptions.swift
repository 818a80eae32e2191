// SPDX-License-Identifier: Apache-2.0

/// The options of TLS. Certificate chain and host name are always checked.
///
/// A host name is looked for in the subject alternative names alone (RFC 9525 §2): a certificate with nothing but a
/// common name is for no host.
///
/// ```swift
/// var engine = CurlConfiguration()
/// engine.connection.tls.roots = .file("/etc/bank/roots.pem")
/// engine.connection.tls.minimumVersion = .v1_3
/// ```
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

  /// A source of trusted roots.
  ///
  /// Files are read once, and looked at again once a second at most: when one has changed, requests go out on new
  /// connections, which know the new roots. While it cannot be read, connections and requests go on with the roots read
  /// before; only after idleness, when no connection holds them any more, requests fail.
  public enum Roots: Sendable, Hashable {
    /// The system's bundle: the file that `SSL_CERT_FILE` names, or the distribution's.
    case system
    /// A PEM file with one or more certificates.
    case file(String)
    /// A directory: every PEM file in it, whatever its name.
    case directory(String)
    /// PEM text with one or more certificates.
    case pem([UInt8])
  }

  /// PEM in a file or in memory.
  public enum PEM: Sendable, Hashable {
    /// Path of a PEM file.
    case file(String)
    /// PEM text.
    case bytes([UInt8])
  }

  /// The strictness of chain checks.
  public enum ChainChecks: Sendable, Hashable {
    /// OpenSSL's default checks.
    case standard
    /// Also what RFC 5280 demands of the form of certificates (`X509_V_FLAG_X509_STRICT`): key identifiers, critical
    /// basic constraints, key usages of authorities. Private authorities made with few options often fail it.
    case strict
  }

  /// A client certificate (chain, leaf first) and its private key.
  ///
  /// Files are read once, and looked at again once a second at most: when certificate and key have changed and match,
  /// requests go out on new connections, which present the new certificate. While they cannot be read or do not match,
  /// connections and requests go on with the pair read before. A file may have 1 MiB at most. It may be a pipe, which
  /// is read once and has to end within a minute.
  public struct Identity: Sendable, Hashable {
    /// Certificate chain.
    public var certificate: PEM
    /// Private key; `nil` if the certificate's PEM contains it.
    public var key: PEM?
    /// Password of the key, if it is encrypted.
    public var keyPassword: String?

    /// Makes an identity. Default: the certificate's PEM contains the key, which has no password.
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
  /// that a transport has by default is presented to every server that asks for a certificate, wherever redirects lead:
  /// ``hostIdentities`` are not.
  public var identity: Identity?
  /// Identities for single hosts, which go before ``identity``. Default none.
  ///
  /// The keys are names of hosts, in any spelling that ``HostName`` reads; they hold for the host itself, on every
  /// port.
  public var hostIdentities: [String: Identity] = [:]
  /// Default TLS 1.2.
  public var minimumVersion: Version = .v1_2
  /// The ciphers of TLS 1.2 and older, by OpenSSL's names, best first (`SSL_CTX_set_cipher_list`). Default `nil`:
  /// OpenSSL's choice. A name that OpenSSL does not know fails requests with `tls/invalid_tls_configuration`; so it
  /// does below.
  public var legacyCiphers: [String]?
  /// The cipher suites of TLS 1.3, best first, such as `TLS_AES_128_GCM_SHA256` (`SSL_CTX_set_ciphersuites`). Default
  /// `nil`.
  public var cipherSuites: [String]?
  /// Default ``ChainChecks/standard``.
  public var chainChecks: ChainChecks = .standard
  /// Whether a server has to staple a good OCSP response (RFC 6066 §8, `CURLOPT_SSL_VERIFYSTATUS`). Default false:
  /// responses are not asked for.
  public var requiresStapledStatus = false
  /// File to which the secrets of every connection are appended, for programs that decrypt captured traffic. Default
  /// `nil`.
  ///
  /// For debugging: a reader of the file can read the traffic. It is made with mode 0600. Lines are written in the
  /// background; the file is complete when the engine has shut down, or the process has exited. The environment's
  /// `SSLKEYLOGFILE` has no effect.
  public var keyLogFile: String?

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
